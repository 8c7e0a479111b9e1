"""Golden runner: DBA, both label models."""

import class_cases

from topicture.models.classes import dba


def run(case):
    model = dba.make_model(class_cases.settings_of(case.config, case.config["label"]))
    params = dba.Params(*(case.inputs[f"init_{name}"] for name in dba.Params._fields))
    return class_cases.fit(case, model, params)
