"""Whether untagged photos are far from the tagged ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from topicture.annotations.shift.worlds import SHOOTS, TAGS, find_worlds, mixture_share
from topicture.corpus import Corpus

N_FOLDERS, N_EACH = 20, 30


@pytest.fixture
def shoots(rng):
    """Photos of 20 folders, each with a look of its own; every photo has the words of two of six themes."""
    folder = np.repeat(np.arange(N_FOLDERS), N_EACH)
    rows = 2.0 * rng.standard_normal((N_FOLDERS, 40))[folder] + rng.standard_normal((len(folder), 40))
    truth = np.eye(6)[folder % 6] + np.eye(6)[(folder + 1) % 6]
    return folder, rows, truth


def corpus_of(shoots, tagged):
    _, rows, truth = shoots
    ids = [f"{i:04d}" for i in range(len(rows))]
    return Corpus.from_arrays(sparse.csr_array(truth * tagged[:, None]), image_ids=ids, descriptor=rows)


def names(shoots):
    return [f"folder {number}" for number in shoots[0]]


def test_a_random_sample_is_one_world(shoots, rng):
    tagged = rng.random(len(shoots[0])) < 0.4
    assert find_worlds(corpus_of(shoots, tagged), names(shoots)) is None


def test_whole_folders_make_the_others_far(shoots):
    tagged = shoots[0] < 8
    corpus = corpus_of(shoots, tagged)
    world = find_worlds(corpus, names(shoots))
    assert world.share > 0.9
    far = world.worlds.far_share(corpus, names(shoots))
    assert far[~tagged].mean() > 0.9
    assert (
        world.hidden[tagged] >= world.near[tagged] - 1e-9
    ).all()  # with its group hidden, a photo is farther
    assert np.isnan(world.near[~tagged]).all()


def test_it_does_not_depend_on_the_order_of_photos_or_on_the_others_asked_about(shoots, rng):
    tagged = shoots[0] < 8
    corpus, places = corpus_of(shoots, tagged), np.array(names(shoots))
    world = find_worlds(corpus, places)
    order = rng.permutation(len(corpus))
    again = find_worlds(corpus[order], places[order])
    assert again.share == pytest.approx(world.share)
    together = world.worlds.far_share(corpus, places)
    alone = [world.worlds.far_share(corpus[[i]], places[[i]])[0] for i in (0, 100, 300, 599)]
    np.testing.assert_allclose(alone, together[[0, 100, 300, 599]])


def test_folders_explain_tags_that_follow_folders_better_than_looks(shoots, rng):
    folder, rows, truth = shoots
    mixed = (folder, 0.7 * rng.standard_normal((4, 40))[folder % 4] + rng.standard_normal(rows.shape), truth)
    world = find_worlds(corpus_of(mixed, folder < 8), names(mixed))
    assert world.kind == "folders"


def test_hours_without_a_photo_part_the_shoots_of_one_folder(shoots, rng):
    folder, rows, truth = shoots
    seconds = folder * 86_400.0 + rng.uniform(0, 7200, len(folder))
    rows = 0.5 * rows + 1.5 * rng.standard_normal((4, 40))[folder % 4] + 0.7 * rng.standard_normal(rows.shape)
    corpus = corpus_of((folder, rows, truth), folder < 8)  # shoots of one theme look alike
    world = find_worlds(corpus, ["2024"] * len(rows), seconds=seconds)
    assert world.kind == SHOOTS
    assert world.share > 0.9
    tagged = world.groups[folder < 8].reshape(8, N_EACH)
    np.testing.assert_array_equal(tagged, np.tile(tagged[:, :1], N_EACH))
    assert len(np.unique(tagged)) == 8


def test_half_of_the_photos_are_far(rng):
    near, far = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])
    bins = rng.choice(4, 40_000, p=(near + far) / 2)
    share, log_likelihood = mixture_share(near, far, bins)
    assert share == pytest.approx(0.5, abs=0.03)
    assert log_likelihood >= max(np.log(near[bins]).sum(), np.log(far[bins]).sum())


def test_tags_that_never_occur_together_are_hidden_as_a_whole(shoots):
    folder, _, _ = shoots
    only = np.eye(N_FOLDERS)[:, :5][folder] * (np.arange(len(folder)) % 2 == 0)[:, None]
    corpus = replace(
        corpus_of(shoots, folder < 5), captions=sparse.csr_array(np.hstack([only, 0 * only[:, :1]]))
    )
    world = find_worlds(corpus, ["all"] * len(corpus))
    assert world.kind == TAGS
    assert world.share > 0.7


def test_too_few_photos_say_nothing(shoots):
    assert find_worlds(corpus_of(shoots, np.arange(len(shoots[0])) < 20), names(shoots)) is None
    assert find_worlds(replace(corpus_of(shoots, shoots[0] < 8), descriptor=None)) is None


def test_chance_is_no_second_world():
    """Looks of many sizes of group, of which a quarter is tagged at random: a false alarm in twenty is chance."""
    alarms = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        look = random.choice(60, 500, p=random.dirichlet(np.full(60, 0.3)))
        rows = 1.5 * random.standard_normal((60, 30))[look] + random.standard_normal((500, 30))
        truth = np.eye(8)[random.integers(0, 8, 500)] + np.eye(8)[random.integers(0, 8, 500)]
        tagged = random.random(500) < 0.25
        alarms += find_worlds(corpus_of((None, rows, truth), tagged), [""] * 500) is not None
    assert alarms <= 3
