"""Golden runner: EMM by maximum likelihood, both label models and both norms."""

import class_cases

from topicture.models.classes import emm


def run(case):
    settings = class_cases.settings_of(case.config, case.config["label"])
    params = emm.Params(*(case.inputs[f"init_{name}"] for name in emm.Params._fields))
    return class_cases.fit(case, emm.make_model(settings, case.config["norm"]), params)
