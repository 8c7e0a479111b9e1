"""Names of models, and files that hold them."""

import json

import numpy as np
import pytest

import topicture as tp
from topicture.corpus import Corpus
from topicture.errors import DataNotFound, ModelFileError, TopictureError, UnknownModel
from topicture.models.base import Annotator
from topicture.models.counts.mix_unigram import MixUnigram
from topicture.models.empirical import Empirical
from topicture.models.files import read_model, write_model
from topicture.models.registry import annotator_class

NAMES = tp.model_names()


def test_the_first_models_are_there():
    assert {"empirical", "mix-unigram"} <= set(NAMES)
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_gives_an_unfitted_annotator(name):
    annotator = tp.make_annotator(name)
    assert isinstance(annotator, Annotator)
    assert type(annotator) is annotator_class(name)
    assert not hasattr(annotator, "vocabulary_")
    assert annotator.__doc__
    assert set(annotator.needs) <= {"regions", "region_words", "visual_words", "descriptor"}


def test_parameters_are_handed_on():
    assert tp.make_annotator("mix-unigram", n_topics=7).n_topics == 7
    with pytest.raises(TypeError, match="n_topic"):
        tp.make_annotator("mix-unigram", n_topic=7)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_takes_a_seed(name):
    annotator = tp.make_annotator(name, seed=7)
    assert annotator.get_params(deep=False).get("seed", 7) == 7
    with pytest.raises(TypeError, match="no_such_parameter"):
        tp.make_annotator(name, seed=7, no_such_parameter=1)


@pytest.mark.parametrize("name", ["corr_lda", "", "MIX-UNIGRAM"])
def test_an_unknown_name_is_answered_with_the_known_ones(name):
    with pytest.raises(UnknownModel, match="there are: empirical, mix-unigram") as refused:
        tp.make_annotator(name)
    assert isinstance(refused.value, TopictureError)
    assert repr(name) in str(refused.value)


@pytest.fixture
def path(tmp_path):
    Empirical().fit(Corpus.from_arrays(captions=np.eye(3))).save(tmp_path / "model")
    return tmp_path / "model"


def test_the_file_decides_which_class_is_loaded(path):
    assert type(tp.load_annotator(path)) is Empirical
    with pytest.raises(ModelFileError, match="holds a 'empirical' model, not 'mix-unigram'"):
        MixUnigram.load(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataNotFound, match="no such model file"):
        tp.load_annotator(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "corr-lda-2"}, "called 'corr-lda-2', which this version does not know"),
        ({"model": ["empirical"]}, "which this version does not know"),
        ({"model": None}, "which this version does not know"),
        ({"version": 99}, "holds version 99 of empirical, this Topicture has 1; learn again"),
        ({"params": {"evil": 1}}, "incomplete"),
        ({"params": 3}, "incomplete"),
        ({"vocabulary": []}, "incomplete"),
        ({"vocabulary": ["a", "a", "b"]}, "incomplete"),
        ({"vocabulary": 5}, "incomplete"),
        ({"columns": []}, "incomplete"),
        ({"n_iter": "many"}, "incomplete"),
        ({"n_iter": float("inf")}, "incomplete"),
    ],
)
def test_headers_that_do_not_fit(path, change, message):
    header, arrays = read_model(path)
    write_model(path, {**header, **change}, arrays)
    with pytest.raises(ModelFileError, match=message) as refused:
        tp.load_annotator(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("entry", ["params", "vocabulary", "columns", "n_iter", "result", "facts"])
def test_headers_that_lack_an_entry(path, entry):
    header, arrays = read_model(path)
    del header[entry]
    write_model(path, header, arrays)
    with pytest.raises(ModelFileError, match="incomplete"):
        tp.load_annotator(path)


@pytest.mark.parametrize("name", ["p_w", "objective_trace"])
def test_arrays_that_are_missing(path, name):
    header, arrays = read_model(path)
    write_model(path, header, {key: value for key, value in arrays.items() if key != name})
    with pytest.raises(ModelFileError, match="incomplete"):
        tp.load_annotator(path)


def test_numpy_hyper_parameters_can_be_saved(tmp_path):
    model = Empirical(pseudo_count=np.float32(0.5)).fit(Corpus.from_arrays(captions=np.eye(3)))
    model.save(tmp_path / "model")
    loaded = tp.load_annotator(tmp_path / "model")
    assert type(loaded.pseudo_count) is float
    assert json.loads(json.dumps(loaded.pseudo_count)) == 0.5
