"""What was promised and what came true, as `evaluate` tells it."""

import math
from typing import Any

from scipy.stats import binomtest

from topicture.annotations.choice.presence import ReliabilityBin, calibration_error
from topicture.annotations.diagnostics import CalibrationPoint, calibration_curve
from topicture.app.explain.held_out import HeldOutAnswers

__all__ = ["trust_told"]


def trust_told(report: dict[str, Any], answers: HeldOutAnswers) -> tuple[tuple[CalibrationPoint, ...], float]:
    """The reliability of a model's report and its mean error above 10%; of a report without it, from hidden tags.

    The report judges where the untagged photos are and is corrected by answers; hidden tags alone know nothing of that.
    """
    bins = report.get("reliability")
    if bins is None:
        points = _curve(answers) if answers.measured else []
        return tuple(points), calibration_error([ReliabilityBin(*point[:5]) for point in points])
    error = report.get("calibration_error")
    return tuple(_point(**each) for each in bins if each["n"]), math.nan if error is None else error


def _curve(answers: HeldOutAnswers) -> list[CalibrationPoint]:
    return calibration_curve(answers.presence, answers.truth, answers.known)


def _point(low: float, high: float, n: int, promised: float, observed: float) -> CalibrationPoint:
    interval = binomtest(round(observed * n), n).proportion_ci(method="wilson")
    return CalibrationPoint(low, high, n, promised, observed, float(interval.low), float(interval.high))
