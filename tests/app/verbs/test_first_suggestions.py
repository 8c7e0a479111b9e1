"""The first time, a quick model suggests before the blend is learned."""

from photo_folder import make_library

from topicture.app.verbs.upkeep import first_suggestions
from topicture.app.verbs.upkeep.first_suggestions import suggest_first


def test_there_is_something_to_review_before_the_blend(tmp_path, monkeypatch):
    library = make_library(tmp_path / "photos", n=24, tagged=16)
    assert suggest_first(library, workers=0) is None  # few photos: the blend is there as soon
    monkeypatch.setattr(first_suggestions, "FEWEST_PHOTOS", 20)
    stages = []
    told = suggest_first(library, workers=0, report=lambda stage, done, total: stages.append(stage))
    assert told.suggestions > 0
    assert [model.name for model in library.models()] == ["knn"]
    assert {stage.partition(": ")[0] for stage in stages} == {"First suggestions"}
    assert suggest_first(library, workers=0) is None  # the second time there are some
