"""Golden runner: EMM by max-margin learning, with and without the safeguard."""

from itertools import islice

import class_cases
import numpy as np

from topicture.models.classes import emm, emm_margin
from topicture.models.em import loop as em


def run(case):
    config, inputs = case.config, case.inputs
    assert config["w_nonneg"], "only w >= 0 is offered"
    n_labelled = max(int(inputs["labelled"].sum()), 1)
    safeguard = config["nu2"] / n_labelled if config["safeguard"] else 0.0
    settings = class_cases.settings_of(config, "printed", margin=True, safeguard=safeguard)
    model = emm.make_model(settings, config["norm"])
    params = emm.Params(*(inputs[f"init_{name}"] for name in emm.Params._fields))
    batches = class_cases.training_batches(case)
    start = class_cases.start_posteriors(batches, inputs["init_phi"], inputs["reg_img"], delta=True)
    prices = {name: config[name] for name in ("nu1", "nu2", "kappa")}
    # The case's tolerance asks for w to 1e-6, so the QP is solved as far as the solver can.
    steps = list(
        islice(
            emm_margin.rounds(
                model, batches, params, class_cases.prior_of(config), start, **prices, qp_tol=1e-11
            ),
            config["iters"],
        )
    )
    last = steps[-1]
    delta = np.zeros(inputs["Y"].shape)
    for (rows, _), q in zip(batches, last.posteriors, strict=True):
        delta[rows] = em.unstack(q.delta, len(rows))
    phi = class_cases.stacked_phi(batches, last.posteriors, inputs["reg_img"])
    return {
        **last.params._asdict(),
        "phi": phi,
        "trace_e": [step.elbo_e for step in steps],
        "trace_m": [step.elbo_m for step in steps],
        "w_delta": last.params.w * delta,
        "J_before": [step.loss_m for step in steps],
        "J": [step.loss for step in steps],
        "w_trace": np.stack([step.params.w for step in steps]),
        "zbar_last": _zbar(phi, inputs["reg_img"], len(inputs["Y"])),
        **class_cases.predictions(case, model, last.params),
    }


def _zbar(phi, reg_img, n_images):
    """Mean responsibilities of every image, (N, C); 0 without instances."""
    member = np.arange(n_images)[:, None] == reg_img
    return member @ phi / np.maximum(member.sum(axis=1), 1)[:, None]
