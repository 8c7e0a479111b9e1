"""The report on region models: measures of boxes and labels on a case by hand, what is kept, and the page."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from topicture_experiments.regions import report, work
from topicture_experiments.regions.page import calibration_table, write_page

ROW = {
    "regions": 20.0,
    "ceiling": 0.9,
    "top1_untold": 0.8,
    "top1_told": 0.85,
    "pixels_untold": 0.8,
    "pixels_told": 0.9,
    "iou_whole": 0.4,
    "iou_told": 0.6,
    "iou_untold": 0.5,
    "half_told": 0.7,
    "words": 10,
    "with_region": 0.9,
    "right": 0.8,
    "certainty": [[0.95, 1], [0.55, 0], [0.55, 1]],
}


def test_true_boxes_surround_the_segments_of_a_word():
    labelled = np.zeros((4, 8), int)
    labelled[:2, :4], labelled[2:, :], labelled[0, 7] = 1, 2, 3
    data = SimpleNamespace(
        segments={"a": {1: "cow", 2: "grass", 3: "cow"}}, segment_map=lambda image: labelled
    )
    boxes = work.true_boxes(data, "a")
    assert boxes == {"cow": [(0, 0, 0.5, 0.5), (0.875, 0, 0.125, 0.25)], "grass": [(0, 0.5, 1, 0.5)]}


def test_a_stopped_report_goes_on_where_it_was(tmp_path, monkeypatch):
    asked = []

    def once(data, cache, quick, task):
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(task)
        return ROW

    monkeypatch.setattr(report, "do", once)
    arguments = ["--data", str(tmp_path), "--out", str(tmp_path), "--quick"]
    with pytest.raises(KeyboardInterrupt):
        report.main(arguments)
    assert len(json.loads((tmp_path / "regions.json").read_bytes())["found"]) == 2
    monkeypatch.setattr(report, "do", lambda *_: ROW)
    report.main(arguments)
    page = (tmp_path / "regions.md").read_text()
    assert "1.50 times the whole photo's IoU" in page
    for model in work.MODELS:
        assert model in page
    assert "0.850" in page
    assert len(work.tasks()) == len({task.key for task in work.tasks()})


def test_an_unfinished_page_says_so(tmp_path):
    with pytest.raises(SystemExit, match="not everything is measured"):
        report.main(["--data", str(tmp_path), "--out", str(tmp_path), "--limit-seconds", "0"])


def test_certainty_is_set_against_what_was_right():
    table, gap = calibration_table(ROW["certainty"])
    assert "| 50% to 60% | 2 | 0.550 | 0.500 |" in table
    assert gap.endswith("0.050.")


def test_page_of_some_results(tmp_path):
    recipe = work.COMPARED[1]
    evidence = {"found": {work.Task(recipe, work.OURS).key: ROW}, "date": "2026-01-01", "seed": 0}
    assert recipe in write_page(evidence, tmp_path).read_text()
