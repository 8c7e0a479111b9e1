"""Values of DBA and EMM (class_topics.py), and how they are restricted to the classes in play."""

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = [
    "ClassPrior",
    "Posterior",
    "Proportions",
    "Settings",
    "Stats",
    "Tables",
    "spread",
    "take",
]


class Settings(NamedTuple):
    """What changes the compiled code."""

    label: str = "chord"  # or "printed"
    kappa: float = 1.0  # weight of the printed label term
    n_sweeps: int = 5
    n_candidates: int = 0  # classes in play for an image; 0: all
    margin: bool = False  # max-margin training: posteriors carry multipliers delta
    safeguard: float = (
        0.0  # nu2 / N_lab: line search on each image's share of the max-margin objective; 0: none
    )
    learn_eta: bool = True
    learn_prior: bool = True  # alpha or lam


class Proportions(NamedTuple):
    """The theta part of a model. `prior` is alpha or lam, (C,); `classes` the candidates, (L,), or None for all."""

    fit: Callable[[Any, Any, Any, Any], Any]  # prior, s, M, classes -> q(theta)
    expected_log: Callable[[Any, Any, Any], Any]  # prior, q(theta), classes -> E ln theta (L,)
    bound: Callable[
        [Any, Any, Any, Any], Any
    ]  # prior, q(theta), M, classes -> its terms of the bound but s.E ln theta
    stats: Callable[
        [Any, Any, Any, Any], Any
    ]  # prior, q(theta), M, classes -> what the M-step of the prior needs
    point: Callable[[Any, Any, Any], Any]  # prior, q(theta), classes -> estimate of theta (C,)
    map_step: Callable[[Any, Any, Any, Any], Any]  # prior (L,), theta (L,), expected counts (L,), M -> theta
    even: bool  # whether exp(E ln theta_c) of two classes is always within a float's range of each other


class ClassPrior(NamedTuple):
    """Beta pseudo-counts and range of the label weights, and the Gamma prior of EMM's rates (DBA has none)."""

    a_w: Any = 1.0
    b_w: Any = 1.0
    w_min: Any = 1e-3
    w_max: Any = 50.0
    chi1: Any = 2.0
    chi2: Any = 1.0


class Tables(NamedTuple):
    log_mu: Any  # (U, C) E[ln beta]
    w: Any  # (C,)
    prior: Any  # (C,) alpha or lam


class Posterior(NamedTuple):
    """The state of one image; q(theta) has a closed form given phi, so the bound is a function of phi alone."""

    phi: Any  # (N, L); 0 for padded regions
    classes: Any  # (L,) int32, or None
    delta: Any  # (L,) multipliers that max-margin training sets between E-steps, or None


class Stats(NamedTuple):
    visual: Any  # (U, C) sum_m x_mu phi_mc
    theta: Any
    zbar: Any  # (C,), or (C, 1) with candidates: sum of zbar over labelled images
    zbar_hit: Any  # the same of y zbar


def take(values: Any, classes: Any) -> Any:
    """Of values (C,) those of the classes in play, (L,)."""
    return values if classes is None else values[classes]


def spread(classes: Any, values: Any, rest: Any) -> Any:
    """(C,): `values` (L,) for the classes in play, `rest` (C,) for all others."""
    return values if classes is None else rest.at[classes].set(values)
