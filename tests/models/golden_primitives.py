"""The `primitives` golden case: solvers and formulas that several models share, computed by Topicture."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from topicture.annotations.measures.metrics import rank
from topicture.models.classes import gamma as gamma_terms
from topicture.models.classes import margin
from topicture.models.em import expfam
from topicture.models.graphs.simplex import simplex_step


def run(case: Any) -> dict[str, Any]:
    """The outputs by name; `case` has `.inputs` (arrays) and `.config` (scalars)."""
    outputs: dict[str, Any] = {}
    with jax.enable_x64(True):
        for part in PARTS:
            outputs |= {name: np.asarray(value) for name, value in part(case.inputs, case.config).items()}
    return outputs


def gaussian(inputs, config):
    r, mu, s2, a, floor = (jnp.asarray(inputs[f"g_{name}"]) for name in ("R", "mu", "s2", "w", "floor"))
    new_mu, new_s2 = expfam.gaussian_m_step(expfam.gaussian_stats(a, r, mu), mu, s2, floor)
    return {
        "log_gauss": expfam.gaussian_log_density(r, mu, s2),
        "mstep_mu": new_mu,
        "mstep_s2": new_s2,
    }


def dirichlet(inputs, config):
    alpha, S = jnp.asarray(inputs["a_start"]), jnp.asarray(inputs["a_S"])
    # The case has no start for eta: the root is unique.
    eta = jax.vmap(lambda S: expfam.fit_symmetric_dirichlet(1.0, config["e_n"], config["e_V"], S))
    return {
        "alpha": expfam.fit_dirichlet(alpha, config["a_n"], S),
        "eta": eta(jnp.asarray(inputs["e_S"])),
        "kl_dir": expfam.dirichlet_kl(jnp.asarray(inputs["k_rho"]), config["k_prior"]).sum(),
    }


def gamma(inputs, config):
    s, lam, M = jnp.asarray(inputs["z_s"]), jnp.asarray(inputs["z_lam"]), config["z_M"]
    g = 1 + s
    r, zeta = gamma_terms.jensen_scale(g, lam, M)
    return {
        "zeta": zeta,
        "q_scale": r,
        "q_elog": gamma_terms.gamma_expected_log(g, r),
        # The theta part of 3.17 without sum_c s_c E ln theta_c.
        "q_elbo": -gamma_terms.gamma_exponential_kl(g, r, lam).sum() - M * jnp.log(jnp.sum(g * r)),
    }


def labels(inputs, config):
    y, w = jnp.asarray(inputs["l_y"], jnp.float64), jnp.asarray(inputs["l_w"])
    return {"label_chord": gamma_terms.label_chord(y, w)}


def simplex(inputs, config):
    return {"simplex": simplex_step(inputs["s_c"], inputs["s_a"])}


def max_margin(inputs, config):
    Y, w, b = inputs["h_Y"] > 0, inputs["h_w"], inputs["h_b"]
    problem = margin.MarginProblem(inputs["h_zbar"], Y, None, Y.shape[1], len(Y))
    cut, pairs = margin.cut_at(problem, w), margin.violated_pairs(problem, w)
    solution = margin.solve(problem, b, config["nu1"], config["nu2"], tol=1e-11)
    return {
        "oracle": pairs.astype(float),
        "hinge": margin.hinge(problem, w),
        "cut_d": cut.d,
        "cut_g": cut.g,
        "cut_signed": problem.unit * np.where(Y, pairs, -pairs),
        "qp_w": solution.w,
        "qp_wdelta": solution.w * solution.delta,
        "qp_primal": solution.primal,
    }


def ranking(inputs, config):
    return {"rank": rank(inputs["r_score"])}


# Each maps (inputs, config) to some of the case's outputs.
PARTS = [gaussian, dirichlet, gamma, labels, simplex, max_margin, ranking]
