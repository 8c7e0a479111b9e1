"""Models travel as who made them and from what, and are one object per process and setting."""

import pickle

import pytest

from topicture import make_annotator, model_names
from topicture.errors import TopictureError
from topicture.models.em.estimator import EMAnnotator
from topicture.models.em.making import how_made, without_bound
from topicture.models.registry import annotator_class

EM_MODELS = [name for name in model_names() if issubclass(annotator_class(name), EMAnnotator)]


@pytest.mark.parametrize("name", EM_MODELS)
def test_a_model_that_has_travelled_is_the_one_that_is_here(name):
    model = make_annotator(name)._model()
    for each in (model, without_bound(model)):
        assert pickle.loads(pickle.dumps(how_made(each))).model() == each


def test_a_model_that_nobody_can_make_is_refused():
    model = make_annotator("mix-unigram")._model()
    with pytest.raises(TopictureError, match="model_maker"):
        how_made(model._replace(elbo=lambda tables, image, q: 0.0))
