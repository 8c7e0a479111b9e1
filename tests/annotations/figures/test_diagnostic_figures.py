"""Figures of the diagnostics: what they show."""

import numpy as np
import pytest

from topicture.annotations.choice.quality_curves import Curve, CurvePoint
from topicture.annotations.diagnostics import calibration_curve
from topicture.annotations.figures.diagnostics import calibration_plot, objective_traces, quality_plot
from topicture.errors import CorpusError


def points(n=2000):
    rng = np.random.default_rng(0)
    presence = rng.random((n, 1))
    return calibration_curve(presence, rng.random((n, 1)) < presence, np.ones((n, 1), bool))


def test_a_trace_is_drawn_as_it_is():
    figure = objective_traces({"corr-lda": [-3.0, -2.0, -1.5], "lap_$x$": [0.0, 1.0]})
    first, second = figure.axes
    np.testing.assert_array_equal(first.lines[0].get_ydata(), [-3.0, -2.0, -1.5])
    assert [first.get_title("left"), second.get_title("left")] == ["corr-lda", "lap_$x$"]


def test_calibration_shows_points_intervals_and_counts():
    found = points()
    (axes,) = calibration_plot(found).axes
    diagonal, curve = axes.lines[:2]
    np.testing.assert_array_equal(diagonal.get_xdata(), [0, 1])
    np.testing.assert_allclose(curve.get_ydata(), [point.observed for point in found])
    assert [text.get_text() for text in axes.texts] == [str(point.n) for point in found]


def test_large_counts_are_written_short():
    found = [points()[0]._replace(n=n) for n in (9_999, 123_456, 12_345_678)]
    (axes,) = calibration_plot(found).axes
    assert [text.get_text() for text in axes.texts] == ["9999", "123k", "12M"]


def test_quality_has_errors_where_they_are_known():
    curve = Curve(
        (CurvePoint(5, 0.2, 0.01, 0.3, 0.02, 2), CurvePoint(10, 0.4, np.nan, 0.5, np.nan, 1)), {}, True
    )
    figure = quality_plot(curve, "tagged photos")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "tagged photos"
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["mean average precision", "accuracy"]


def test_nothing_to_draw_is_told():
    with pytest.raises(CorpusError, match="no traces"):
        objective_traces({})
    with pytest.raises(CorpusError, match="no judged pairs"):
        calibration_plot([])
