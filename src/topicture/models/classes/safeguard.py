"""The line search that keeps the loss of max-margin training from rising (docs/models.md, 4); see class_topics.py."""

import jax
import jax.numpy as jnp

from topicture.models.classes.terms import bound_terms, mean_hinge
from topicture.models.classes.values import Posterior
from topicture.models.em.expfam import xlogx

__all__ = ["safeguarded"]

_STEPS = (*(2.0**-k for k in range(11)), 0.0)


def safeguarded(theta, settings, tables, image, log_lik, old: Posterior, new: Posterior) -> Posterior:
    """phi_old + t (phi_new - phi_old), the largest t in 1, 1/2 .. 2^-10, 0 that does not raise the image's loss (4).

    The loss is only computed where bounds from the ends of the line do not decide: a refusal is the rule where the
    price of slack is high, and then most steps are far too long.
    """
    M, dtype = jnp.sum(image.region_mask), log_lik.dtype
    ends = jax.vmap(lambda phi: bound_terms(theta, settings, tables, image, log_lik, old._replace(phi=phi)))(
        jnp.stack([old.phi, new.phi])
    )
    ts = jnp.asarray(_STEPS, dtype)

    def at(t):
        return old._replace(phi=(1 - t) * old.phi + t * new.phi)

    def hinge(s):
        return settings.safeguard * mean_hinge(tables, image, s, old.classes)

    def loss(t):
        terms = bound_terms(theta, settings, tables, image, log_lik, at(t))
        return hinge(terms.s) - terms.theta - terms.rest

    def on_chord(ends):
        return (1 - ts) * ends[0] + ts * ends[1]

    hinges = jax.vmap(lambda t: hinge((1 - t) * ends.s[0] + t * ends.s[1]))(ts)
    limit = hinges[-1] - ends.theta[0] - ends.rest[0]
    # Entropy lies above its chord by no more than that of the mixing. The best bound over q(theta) is convex in s with
    # slope E ln theta: it lies below its chord and above its tangents.
    straight = hinges - on_chord(ends.rest)
    mixing = -M * (xlogx(ts) + xlogx(1 - ts))
    rise = ends.e @ (ends.s[1] - ends.s[0])
    tangent = jnp.maximum(ends.theta[0] + ts * rise[0], ends.theta[1] - (1 - ts) * rise[1])
    rounding = 100 * jnp.finfo(dtype).eps * (1 + jnp.abs(limit))
    refused = straight - on_chord(ends.theta) - mixing > limit + rounding
    accepted = (straight - tangent <= limit - rounding) | (ts == 0)

    def next_open(k):
        """The first step from k on that is not surely refused; the last one, 0, never is."""
        return jnp.argmax(~refused & (jnp.arange(len(ts)) >= k) | (ts == 0))

    def unfinished(state):
        return ~state[1]

    def try_step(state):
        k, _ = state
        fits = loss(ts[k]) <= limit
        k = jnp.where(fits, k, next_open(k + 1))
        return k, fits | accepted[k]

    k = next_open(0)
    return at(ts[jax.lax.while_loop(unfinished, try_step, (k, accepted[k]))[0]])
