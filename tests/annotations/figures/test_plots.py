"""Figures: what they show, not how their pixels fall; and that they leave the host's matplotlib alone."""

import subprocess
import sys

import matplotlib
import matplotlib.texmanager
import numpy as np
import pytest

from topicture.annotations.figures.plots import (
    compared_region_words,
    curve_with_errors,
    labelled_regions,
    likelihood_against_topics,
    perplexity_against_topics,
    precision_recall_curves,
    save_figure,
    topic_words,
)
from topicture.annotations.figures.style import COLOURS, line_looks
from topicture.annotations.measures import metrics
from topicture.errors import CorpusError

N_TOPICS = [5, 25, 100]
MODELS = {"GM-Mixture": [60.0, 55.0, 52.0], "GM-LDA": [61.0, 58.0, 57.0], "Corr-LDA": [59.0, 50.0, 44.0]}
# Four quadrants, of which the last holds a sliver, and a hole where no region is.
QUADRANTS = np.kron([[0, 1], [2, 3]], np.ones((60, 80), dtype=int))
QUADRANTS[110, 100:110] = 4
QUADRANTS[:5, :5] = -1
PIXELS = np.full((120, 160, 3), 128, dtype=np.uint8)


def legend_names(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def drawn_lines(axes):
    """Label -> line of the curves that the legend names."""
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def texts(axes):
    return [text.get_text() for text in axes.texts]


# --- Curves -----------------------------------------------------------------------------------------------------


def test_likelihood_has_a_curve_per_model_and_a_line_for_the_baseline():
    figure = likelihood_against_topics(N_TOPICS, MODELS, levels={"independent": 70.0})
    (axes,) = figure.axes
    curves = drawn_lines(axes)
    assert list(curves) == legend_names(figure) == [*MODELS, "independent"]
    np.testing.assert_array_equal(
        curves["Corr-LDA"].get_xydata(), np.column_stack([N_TOPICS, MODELS["Corr-LDA"]])
    )
    assert list(curves["independent"].get_ydata()) == [70.0, 70.0]
    assert axes.get_xlabel() == "number of topics K"
    assert axes.get_ylabel() == "average negative log probability"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["5", "25", "100"]


def test_models_that_overfit_leave_the_graph_with_an_arrow_and_a_value():
    overfitted = MODELS | {"GM-Mixture": [70.0, 400.0, 2922.0]}
    figure = perplexity_against_topics(N_TOPICS, {"maximum likelihood": overfitted, "smoothed": MODELS})
    left, right = figure.axes
    assert [axes.get_title("left") for axes in figure.axes] == ["maximum likelihood", "smoothed"]
    assert left.get_ylim() == right.get_ylim()
    bottom, top = left.get_ylim()
    assert 0 < bottom < 44
    assert 70 < top < 100
    (arrows,) = [line for line in left.get_lines() if line.get_marker() == "^" and len(line.get_xdata()) == 2]
    assert list(arrows.get_xdata()) == [25, 100]
    assert texts(left) == ["2,922"]
    assert texts(right) == []
    looks = [{name: line.get_color() for name, line in drawn_lines(axes).items()} for axes in (left, right)]
    assert looks[0].items() >= looks[1].items()


def test_infinite_perplexity_is_shown_and_what_fits_is_not_cut():
    infinite = MODELS | {"GM-Mixture": [70.0, 80.0, np.inf]}
    assert texts(perplexity_against_topics(N_TOPICS, infinite).axes[0]) == ["inf"]
    missing = {"run": MODELS, "not run": {"GM-LDA": [np.nan] * 3}}
    assert texts(perplexity_against_topics(N_TOPICS, missing).axes[0]) == []
    whole = perplexity_against_topics(N_TOPICS, MODELS).axes[0]
    assert texts(whole) == []
    assert whole.get_ylim()[1] > 61
    assert texts(perplexity_against_topics(N_TOPICS, MODELS, ceiling=60.5).axes[0]) == ["61"]


def test_errors_become_bars_and_are_optional():
    figure = curve_with_errors(
        [1, 2, 3],
        {"a": [1.0, 2.0, 3.0], "b": [2.0, np.nan, 4.0]},
        {"a": [0.1, 0.2, 0.3]},
        x_label="images",
        y_label="accuracy",
        title="$5 and more$",
    )
    (axes,) = figure.axes
    with_bars = {container.get_label(): container.has_yerr for container in axes.containers}
    assert with_bars == {"a": True, "b": False}
    ends = [segment[:, 1].tolist() for segment in axes.containers[0].lines[2][0].get_segments()]
    np.testing.assert_allclose(ends, [[0.9, 1.1], [1.8, 2.2], [2.7, 3.3]])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("images", "accuracy")
    figure.draw_without_rendering()


@pytest.mark.parametrize("n_values", [2, 4])
def test_a_curve_of_another_length_is_refused(n_values):
    with pytest.raises(CorpusError, match=r"GM-LDA: values of shape"):
        likelihood_against_topics(N_TOPICS, {"GM-LDA": np.ones(n_values)})


@pytest.mark.parametrize(
    "draw", [lambda: likelihood_against_topics([1], {}), lambda: precision_recall_curves({})]
)
def test_nothing_to_draw(draw):
    with pytest.raises(CorpusError, match="nothing to draw"):
        draw()


def test_precision_and_recall_at_relevant_images_with_the_average():
    scores, relevant = [0.4, 0.3, 0.3, 0.1], [False, True, False, True]
    curve = metrics.precision_recall(scores, relevant)
    nothing = metrics.precision_recall(scores, [False] * 4)
    figure = precision_recall_curves({"fish": {"GM-LDA": curve}, "yeti": {"GM-LDA": nothing}})
    fish, yeti = figure.axes
    np.testing.assert_allclose(drawn_lines(fish)["GM-LDA"].get_xydata(), [[0.5, 0.5], [1.0, 0.5]])
    heights = [line.get_ydata()[0] for line in fish.get_lines() if line.get_label() == "_"]
    assert heights == [metrics.average_precision(scores, relevant)]
    assert texts(yeti) == ["no relevant image"]
    assert legend_names(figure) == ["GM-LDA", "average precision"]


def test_every_model_has_its_own_look_whatever_their_number():
    looks = line_looks(f"model {i}" for i in range(20))
    assert len({(look["color"], look["marker"], look["linestyle"]) for look in looks.values()}) == 20
    assert len(set(COLOURS)) == len(COLOURS)


# --- Pictures and words -----------------------------------------------------------------------------------------


def test_each_name_stands_in_its_region_and_clear_of_the_others():
    words = ["sky", "mountain", "$1 bill$", "grass", None]
    figure = labelled_regions(PIXELS, QUADRANTS, words, title="scene")
    (axes,) = figure.axes
    assert sorted(texts(axes)) == sorted(words[:4])
    for text in axes.texts:
        column, row = text.get_position()
        assert words[QUADRANTS[row, column]] == text.get_text()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert len(axes.images) == 1
    assert len(axes.collections) == 2 * len(np.unique(QUADRANTS))


def test_a_name_moves_aside_for_a_larger_region_s():
    labels = np.zeros((120, 160), dtype=int)
    labels[55:66, 20:140] = 1  # a band through the middle of the picture
    figure = labelled_regions(PIXELS, labels, ["background", "horizon"])
    names = {text.get_text(): text for text in figure.axes[0].texts}
    assert not names["background"].get_window_extent().overlaps(names["horizon"].get_window_extent())
    column, row = names["horizon"].get_position()
    assert labels[row, column] == 1


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (40, 30)])
def test_a_picture_of_one_region(shape):
    figure = labelled_regions(np.zeros(shape), np.zeros(shape, dtype=int), ["night"])
    assert texts(figure.axes[0]) == ["night"]


def test_words_of_two_models_beside_the_numbered_regions():
    words = {
        "Corr-LDA": [["sky", "cloud"], ["sky"], ["grass"], ["field", "grass"], []],
        "GM-LDA": [["tundra"], ["ice"], ["grass"], ["sea"], ["jet"]],
    }
    picture, table = compared_region_words(PIXELS, QUADRANTS, words).axes
    assert sorted(texts(picture)) == ["1", "2", "3", "4", "5"]
    assert set(texts(table)) >= {"Corr-LDA", "GM-LDA", "sky, cloud", "field, grass", "jet", "5"}
    rows = {text.get_text(): text.get_position()[1] for text in table.texts}
    assert rows["sky, cloud"] == rows["tundra"] == rows["1"]


def test_what_does_not_fit_the_picture_is_refused():
    with pytest.raises(CorpusError, match="does not fit a picture"):
        labelled_regions(PIXELS, QUADRANTS[1:], ["a"] * 5)
    with pytest.raises(CorpusError, match="5 regions, and there are words for 4"):
        labelled_regions(PIXELS, QUADRANTS, ["a"] * 4)
    with pytest.raises(CorpusError, match="same regions"):
        compared_region_words(PIXELS, QUADRANTS, {"a": [["x"]] * 5, "b": [["x"]] * 4})


def test_words_of_topics_best_first_on_one_scale():
    figure = topic_words(
        [[0.1, 0.6, 0.3], [0.2, 0.2, 0.6]], ["sea", "sky", "$ky"], n_words=2, weights=[0.004, 0.996]
    )
    first, second = figure.axes
    assert [axes.get_title("left") for axes in figure.axes] == ["topic 2   100%", "topic 1   <1%"]
    assert texts(first) == ["$ky", "sea"]
    assert texts(second) == ["sky", "$ky"]
    assert [bar.get_width() for bar in second.patches] == [0.6, 0.3]
    assert first.get_xlim() == second.get_xlim()


def test_only_so_many_topics_are_shown():
    p = np.full((30, 2), 0.5)
    assert len(topic_words(p, ["a", "b"], max_topics=7).axes) == 7
    with pytest.raises(CorpusError, match="do not fit 3 words"):
        topic_words(p, ["a", "b", "c"])


# --- Manners ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, kind):
    for name in "ab":
        figure = likelihood_against_topics(N_TOPICS, MODELS, levels={"independent": 70.0})
        save_figure(figure, tmp_path / "new" / f"{name}.{kind}")
    first, second = ((tmp_path / "new" / f"{name}.{kind}").read_bytes() for name in "ab")
    assert first == second
    assert len(first) > 1000


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"saved as \.png, \.svg, \.pdf"):
        save_figure(likelihood_against_topics(N_TOPICS, MODELS), tmp_path / "figure.doc")


def test_settings_of_the_host_are_neither_changed_nor_needed(tmp_path):
    with matplotlib.rc_context({"axes.facecolor": "black", "savefig.dpi": 30, "figure.facecolor": "black"}):
        before = dict(matplotlib.rcParams)
        figure = perplexity_against_topics(N_TOPICS, MODELS)
        save_figure(figure, tmp_path / "figure.svg")
        assert dict(matplotlib.rcParams) == before
    assert figure.axes[0].get_facecolor() == (1, 1, 1, 1)


@pytest.mark.parametrize("make", ["curves", "regions"])
def test_no_setting_makes_a_figure_run_tex(make, tmp_path, monkeypatch):
    """Neither while it is made, nor when the host draws it, tick labels included."""
    monkeypatch.setattr(
        matplotlib.texmanager.TexManager,
        "_run_checked_subprocess",
        lambda *_, **__: pytest.fail("TeX was run"),
    )
    with matplotlib.rc_context({"text.usetex": True}):
        if make == "curves":
            figure = perplexity_against_topics(N_TOPICS, MODELS)
        else:
            figure = labelled_regions(np.zeros((40, 60, 3), np.uint8), np.zeros((40, 60), int), ["sky"])
        figure.canvas.draw()
        save_figure(figure, tmp_path / "figure.png")
        assert matplotlib.rcParams["text.usetex"]


def test_the_package_starts_without_matplotlib_and_figures_without_pyplot():
    code = (
        "import sys, topicture, topicture.annotations.measures.metrics\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import topicture.annotations.figures.plots\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
