"""Numbers of neighbours and of steps in a model file: what no fit writes is refused when the file is read."""

import pytest

import topicture as tp
from topicture.errors import ModelFileError, TopictureError
from topicture.models.files import read_model, write_model

NO_COUNTS = [True, False, 0, -1, -(1 << 63), 0.36, 3.0, "3", None]


def changed(path, part, key, value):
    header, arrays = read_model(path)
    write_model(path, {**header, part: {**header[part], key: value}}, arrays)


@pytest.mark.parametrize("value", NO_COUNTS)
@pytest.mark.parametrize(
    ("name", "part"),
    [("knn", "params"), ("tagprop", "params"), ("label-spreading", "params"), ("lsa", "facts")],
)
def test_neighbours(name, part, value, tiny_corpus, tmp_path):
    path = tmp_path / "model"
    tp.make_annotator(name).fit(tiny_corpus).save(path)
    changed(path, part, "n_neighbours", value)
    with pytest.raises(ModelFileError, match="n_neighbours"):
        tp.load_annotator(path)


@pytest.mark.parametrize("part", ["params", "facts"])
@pytest.mark.parametrize("value", [*NO_COUNTS, 1 << 31, (1 << 63) - 1])
def test_steps_of_a_loop_that_cant_be_interrupted(part, value, tiny_corpus, tmp_path):
    path = tmp_path / "model"
    tp.make_annotator("plsa", n_topics=2, n_init=1, max_iter=1).fit(tiny_corpus).save(path)
    changed(path, part, "fold_steps", value)
    with pytest.raises(ModelFileError, match="fold_steps"):
        tp.load_annotator(path)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("link-lda", "n_sweeps"),
        *((name, key) for name in ("dba", "emm-ml", "emm-margin") for key in ("n_sweeps", "n_sweeps_use")),
        ("gm-lda", "max_sweeps"),
        ("corr-lda", "max_sweeps"),
    ],
)
def test_sweeps_of_a_loop_that_cant_be_interrupted(name, parameter):
    tp.make_annotator(name, **{parameter: 10_000})._check_params()
    with pytest.raises(TopictureError, match=f"{parameter} must be a whole number from 1 to 10000"):
        tp.make_annotator(name, **{parameter: 10_001})._check_params()
