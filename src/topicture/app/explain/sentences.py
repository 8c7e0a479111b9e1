"""What the figures of an explanation say, in plain sentences."""

import math

from topicture.app.explain.explanation import ExplainedWord, Explanation
from topicture.app.promises import promises_line

__all__ = ["sentences"]

FEWEST_PHOTOS = 5  # a word on fewer photos is judged by chance
N_NAMED = 3


def sentences(explanation: Explanation) -> dict[str, str]:
    """Name of a part -> what it says; the empty string where there is nothing to say."""
    return {
        "tags": _tags(explanation),
        "differing": explanation.warning,
        "completeness": _completeness(explanation),
        "promises": "" if explanation.promises is None else promises_line(explanation.promises),
        "calibration": _calibration(explanation),
        "words": _words(explanation),
        "confusions": _confusions(explanation),
        "learning": _learning(explanation),
        "time": _time(explanation),
    }


def _tags(e: Explanation) -> str:
    if e.tagged == e.learned_tagged:
        return ""
    return (
        f"It was learned from {e.learned_tagged} tagged photos, and {e.tagged} have one of its words now: "
        "run “topicture learn” to take that in."
    )


def _calibration(e: Explanation) -> str:
    if not e.measured:
        return ""  # the warning says so
    if math.isnan(e.calibration_error):
        return "No suggestion was promised more than 10%, so there is little to check."
    return (
        f"From 10% on, what was promised and what came true differ by {100 * e.calibration_error:.0f} "
        "percentage points on average."
    )


def _completeness(e: Explanation) -> str:
    if e.completeness_overall is None or not e.completeness:
        return ""
    least = ", ".join(
        f"{word} ({share:.0%} ± {spread:.0%})" for word, share, spread in e.completeness[:N_NAMED]
    )
    return (
        f"By random questions, {e.completeness_overall:.0%} of the tags that are true of tagged photos were given; "
        f"least often: {least}."
    )


def _words(e: Explanation) -> str:
    judged = [w for w in e.word_table if w.photos >= FEWEST_PHOTOS and not math.isnan(w.average_precision)]
    if len(judged) < 2:
        return f"Fewer than two words are on {FEWEST_PHOTOS} photos or more: too few to compare."
    ordered = sorted(judged, key=lambda w: (-w.average_precision, w.word))
    n = min(N_NAMED, len(ordered) // 2)
    best, worst = ordered[:n], ordered[-n:][::-1]
    return f"Found best: {_list(best)}. Found worst: {_list(worst)}. (Of words on {FEWEST_PHOTOS} photos or more.)"


def _list(words: list[ExplainedWord]) -> str:
    return ", ".join(f"{w.word} ({w.average_precision:.2f}, {w.photos} photos)" for w in words)


def _confusions(e: Explanation) -> str:
    if all(word.suggested is None for word in e.word_table):
        return "What is taken for what was not measured."
    if not e.confusions:
        return "No word was suggested where another was meant."
    first = e.confusions[0]
    return (
        f"Most often, {first.suggested} is suggested where {first.meant} was meant: "
        f"on {first.photos} of the {first.of} photos with {first.meant}."
    )


def _learning(e: Explanation) -> str:
    if e.gain is None:
        return ""
    g = e.gain
    step = f"From {g.from_x} to {g.to_x} tagged photos the mean average precision changed by {g.gain:+.3f}"
    if math.isnan(g.standard_error):
        return f"{step} in a single trial, too few to tell what more tags would bring."
    step += f" (standard error {g.standard_error:.3f})"
    if g.gain < 2 * g.standard_error:
        return f"{step}: not clearly above chance. More tags would probably help little; better ones might."
    return (
        f"{step}. Such curves flatten: twice the {e.tagged} photos that are tagged now should bring "
        f"somewhat less than {g.gain:+.2f}."
    )


def _time(e: Explanation) -> str:
    curves = [curve for curve in (e.learning, *e.by_topics.values()) if curve is not None]
    if e.curve_minutes is None or all(curve.complete for curve in curves):
        return ""
    return f"{e.curve_minutes:g} minutes were not enough for all trials; “--minutes” allows more time."
