"""The demonstration as a function: deterministic, honest about its measures, safe in its page."""

import numpy as np
import pytest

from topicture.annotations.predict import Suggestion
from topicture.demo.page import page_of
from topicture.demo.run import DEMO_MODELS, SHOWN, DemoReport, Example, Score, run_demo
from topicture.errors import TopictureError

pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture(scope="module")
def report():
    stages = []
    result = run_demo(60, workers=1, models=DEMO_MODELS[:1], report=lambda *progress: stages.append(progress))
    return result, stages


def test_counts_and_stages(report):
    result, stages = report
    assert (result.n_images, result.n_tagged) == (60, 15)
    assert ("Rendering photos", 60, 60) in stages
    assert ("Looking at photos", 60, 60) in stages


@pytest.mark.slow  # renders and describes a collection again
def test_same_seed_same_numbers(report):
    again = run_demo(60, workers=1, models=DEMO_MODELS[:1])
    assert again.as_dict()["examples"] == report[0].as_dict()["examples"]
    assert again.as_dict()["scores"][0]["measures"] == report[0].as_dict()["scores"][0]["measures"]


def test_examples_are_untagged_photos_with_ranked_words(report):
    for example in report[0].examples:
        probabilities = [s.probability for s in example.suggestions]
        assert len(probabilities) == 5
        assert np.all(np.diff(probabilities) <= 0)


def test_fraction_outside_0_to_1_is_refused():
    with pytest.raises(TopictureError, match="between 0 and 1"):
        run_demo(60, tagged_fraction=1.5)


def test_page_shows_hostile_words_as_text(tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    example = Example(evil, (evil,), (Suggestion(evil, 0.5),), np.zeros((8, 8, 3), np.uint8))
    score = Score(evil, 1.0, "", dict.fromkeys(SHOWN, 0.5))
    report = DemoReport(60, 15, 54, 0, 1.0, (score,), evil, None, (example,))
    page = page_of(report)
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page
