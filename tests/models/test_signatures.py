"""Hyper-parameters are part of the public interface: names, order and defaults stay, however they are declared."""

import inspect

import pytest
from sklearn.base import clone

from topicture.models.registry import annotator_class, make_annotator, model_names

SIGNATURES = {
    "empirical": """
        *, pseudo_count=0.0
    """,
    "mix-unigram": """
        n_topics=50, *, smoothing='vb', eta_visual=1.0, eta_words=0.3, eps_weights=0.01, start='kmeans',
        max_iter=200, tol=1e-05, n_init=5, seed=0, precision='float64'
    """,
    "gm-mixture": """
        n_topics=50, *, smoothing='eb', eta=0.1, eta_update='alternate', eps_words=1e-10, eps_weights=0.01,
        start='kmeans', max_iter=200, tol=1e-05, n_init=3, seed=0, precision='float64'
    """,
    "gm-lda": """
        n_topics=50, *, alpha=1.0, learn_alpha=True, smoothing='eb', eta=0.1, eta_update='alternate',
        eps_words=1e-10, start='kmeans', max_sweeps=50, sweep_tol=1e-06, max_iter=200, tol=1e-05, n_init=3,
        seed=0, precision='float64'
    """,
    "corr-lda": """
        n_topics=50, *, alpha=1.0, learn_alpha=True, smoothing='eb', eta=0.1, eta_update='alternate',
        eps_words=1e-10, start='kmeans', max_sweeps=50, sweep_tol=1e-06, max_iter=200, tol=1e-05, n_init=3,
        seed=0, precision='float64'
    """,
    "region-logistic": """
        ridge=0.001, *, pull=0.6, background=0.0, max_iter=60, tol=0.0001, m_steps=10, max_regions=40000
    """,
    "plsa": """
        n_topics=50, *, variant='linked', eps=0.5, power=0.8, fold_steps=100, max_iter=100, tol=1e-05,
        n_init=3, seed=0, precision='float64'
    """,
    "plsa-words": """
        n_topics=50, *, eps=0.5, power=0.8, fold_steps=100, max_iter=100, tol=1e-05, n_init=3, seed=0,
        precision='float64'
    """,
    "link-lda": """
        n_topics=50, *, alpha=0.05, eta_visual=0.05, eta_words=0.3, learn_alpha=True, learn_eta=False,
        learning='stochastic', n_epochs=4, batch_size=512, tau0=16.0, kappa=0.7, start='random', n_sweeps=8,
        algorithm='variational',
        max_iter=200, tol=1e-05, n_init=3, seed=0, precision='float64'
    """,
    "lap-em": """
        n_topics=50, *, lam=2.11, gamma=0.1, stop_smoothing='fixed', max_smoothing=10, smoothing_tol=0.01,
        graph=None, temperature=1.0, continuation=0, annealing=1.0, smoothing='map', eta_visual=1.0,
        eta_words=0.3, eps_weights=0.01, start='kmeans', max_iter=200, tol=1e-05, n_init=3, seed=0,
        precision='float64'
    """,
    "lap-var1": """
        n_topics=50, *, algorithm='lap-var1', lam=0.3, graph=None, schedule='jacobi', sweeps=1, gamma=0.1,
        max_smoothing=20, after_fall='stop', temperature=1.5, continuation=0, annealing=4.0, smoothing='vb',
        eta_visual=1.0, eta_words=0.3, eps_weights=0.01, start='kmeans', max_iter=200, tol=1e-05, n_init=3,
        seed=0, precision='float64'
    """,
    "lap-var2": """
        n_topics=50, *, algorithm='lap-var1', lam=0.3, graph=None, schedule='jacobi', sweeps=1, gamma=0.1,
        max_smoothing=20, after_fall='stop', temperature=1.5, continuation=0, annealing=4.0, smoothing='vb',
        eta_visual=1.0, eta_words=0.3, eps_weights=0.01, start='kmeans', max_iter=200, tol=1e-05, n_init=3,
        seed=0, precision='float64'
    """,
    "lsa": """
        n_components=50, *, inference='soft', n_neighbours='auto', view='descriptor', word_weight='auto',
        search='auto', seed=0
    """,
    "nlsa": """
        n_components=50, *, kernel='gaussian', bandwidth=None, centre=False, n_neighbours='auto',
        view='descriptor', word_weight='auto', max_exact=15000, n_landmarks=2000, search='auto', seed=0
    """,
    "iwe": """
        base='nlsa', *, n_dims=2, ridge_images=0.1, ridge_words=0.5, optimiser='lbfgs', step=0.5,
        max_iter=200, tol=1e-05, n_init=5, seed=0
    """,
    "dba": """
        *, label='printed', label_weight=500.0, score='theta', alpha=1.0, learn_alpha=False, eta=20.0,
        learn_eta=False, n_sweeps=5, n_sweeps_use=50, n_candidates=0, max_iter=200, tol=1e-05,
        precision='float64'
    """,
    "emm-ml": """
        *, label='printed', label_weight=500.0, norm='jensen', score='theta', chi1=2.0, chi2=1.0,
        learn_lam=False, eta=20.0, learn_eta=False, n_sweeps=5, n_sweeps_use=50, n_candidates=0,
        max_iter=200, tol=1e-05, precision='float64'
    """,
    "emm-margin": """
        *, nu1=1.0, nu2_per_image=100.0, kappa=0.0, safeguard=True, score='zbar', chi1=2.0, chi2=1.0,
        learn_lam=False, eta=0.5, learn_eta=True, n_sweeps=5, n_sweeps_use=50, n_candidates=0, max_iter=30,
        tol=0.0001, precision='float64'
    """,
    "naive-bayes": """
        *, power=0.3, pseudo_count=0.1, background=0.1
    """,
    "knn": """
        n_neighbours=200, *, power=3.0, view='descriptor', background=0.1
    """,
    "tagprop": """
        n_neighbours=100, *, weights='rank', word_sigmoid=True, view='descriptor', background=0.1
    """,
    "logistic": """
        ridge=3.0, *, max_iter=100, tol=1e-05, view='descriptor', background=0.05
    """,
    "companions": """
        ridge=30.0, *, pseudo_count=2.0, max_iter=100, tol=1e-05, view='descriptor', background=0.0
    """,
    "ridge": """
        ridge=0.0, *, power=1.5, view='descriptor', background=0.05
    """,
    "label-spreading": """
        n_neighbours=30, *, alpha=0.9, view='descriptor', background=0.1
    """,
    "network": """
        n_hidden=200, *, n_networks=3, drop=0.4, teach=3.0, n_updates='auto', view='descriptor',
        background=0.01, seed=0
    """,
    "matching": """
        n_dimensions=64, *, n_spaces=3, drop=0.7, drop_matched=0.3, teach=3.0, n_updates='auto',
        view='descriptor', background=0.0, seed=0
    """,
    "text-match": """
        ridge=10.0, *, background=0.05, private=4.0, pseudo_count=0.03, max_iter=100, tol=1e-05
    """,
    "auto": """
        members=None, *, n_folds=3, budget_seconds=600.0, budget_bytes=4000000000.0, race=True, seed=0
    """,
}


def plain(signature):
    """Without annotations. Two signatures are equal whatever the order of their keyword-only parameters."""
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return inspect.Signature(parameters)


def declared(text):
    names = {}
    exec(f"def function({text}): ...", names)
    return plain(inspect.signature(names["function"]))


def test_every_model_is_in_the_table():
    assert set(SIGNATURES) == set(model_names())


@pytest.mark.parametrize("name", model_names())
def test_signatures_stay(name):
    assert plain(inspect.signature(annotator_class(name))) == declared(SIGNATURES[name])


@pytest.mark.parametrize("name", model_names())
def test_scikit_learn_finds_the_parameters(name):
    annotator = make_annotator(name)
    params = annotator.get_params(deep=False)
    assert set(params) == set(declared(SIGNATURES[name]).parameters)
    assert clone(annotator).get_params(deep=False) == params
    key, value = next((key, value) for key, value in params.items() if isinstance(value, int | float))
    changed = clone(annotator).set_params(**{key: value + 1})
    assert changed.get_params(deep=False) == {**params, key: value + 1}
    assert repr(changed).startswith(f"{type(annotator).__name__}(")
    assert f"{key}={value + 1!r}" in repr(changed)
    assert not [key for key in vars(changed) if key.endswith("_")], "nothing is fitted by a constructor"
