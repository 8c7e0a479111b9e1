"""What an evaluation says in sentences: no figure where nothing was measured, and never one that is no number."""

from math import nan

import pytest

from topicture.app.explain.evaluating import trust_in_words
from topicture.store.decisions.promises import Promises

TRIAL = {"model": "ridge", "mean": 0.694, "standard_error": 0.024}
MEASURED = {"measured": True, "promises": None, "calibration_error": 0.0213, "trials": [TRIAL], "tagged": 48}


def test_hidden_tags_tell_how_far_promises_are_off_and_how_well_photos_are_ranked():
    assert trust_in_words(MEASURED) == [
        "Measured on tags that were hidden: a probability is off by 2.1 points on average.",
        "The model “ridge” reaches 69% of a perfect ranking (mean average precision, ± 2.4 points) on 48 tagged "
        "photos.",
    ]


@pytest.mark.parametrize("error", [nan, None])
def test_what_is_no_number_is_not_told(error):
    one_trial = {**TRIAL, "standard_error": nan}
    said = trust_in_words({**MEASURED, "calibration_error": error, "trials": [one_trial]})
    assert said[0] == "Measured on tags that were hidden: no suggestion was promised more than 10%."
    assert said[1].endswith("of a perfect ranking (mean average precision) on 48 tagged photos.")
    assert len(trust_in_words({**MEASURED, "trials": [{**TRIAL, "mean": nan}]})) == 1


def test_answers_alone_say_nothing_of_rankings_and_without_measure_there_is_no_figure():
    assert trust_in_words({**MEASURED, "by_answers": True, "warning": "Few tags."}) == [
        "Few tags.",
        "Measured on answers about untagged photos: a probability is off by 2.1 points on average.",
    ]
    promises = Promises(answers=54, promised=0.59, came_true=0.07)
    assert trust_in_words({**MEASURED, "measured": False, "warning": "Nothing.", "promises": promises}) == [
        "Nothing.",
        "Of 54 answers about suggestions, 59% were promised and 7% came true.",
    ]


def test_reports_of_earlier_versions_are_told():
    earlier = {name: value for name, value in MEASURED.items() if name != "calibration_error"}
    assert trust_in_words(earlier)[0].endswith("no suggestion was promised more than 10%.")
