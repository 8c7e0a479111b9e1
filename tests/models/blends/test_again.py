"""A blend that goes on from an earlier one: what is taken over is honest, and ends where it would have ended."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from topicture.corpus import Corpus, Vocabulary
from topicture.errors import ModelFileError
from topicture.models.blends import hidden_answers
from topicture.models.blends.again import Again, honest_answers
from topicture.models.blends.auto import Auto
from topicture.models.blends.hidden_answers import by_image, known_of, read_known, said_in, write_known
from topicture.models.blends.members import FormerRow

CHEAP = ["knn", "naive-bayes"]
N, N_TAGGED = 150, 90


@pytest.fixture(scope="module")
def everything():
    """Images of five kinds with all their words, nobody's near copy."""
    rng = np.random.default_rng(7)
    kind = rng.integers(0, 5, N)
    captions = np.eye(6)[kind] + (rng.random((N, 6)) < 0.1)
    return Corpus.from_arrays(
        captions=captions,
        vocabulary=list("abcdef"),
        visual_words=rng.poisson(0.3 + 1.0 * (kind[:, None] == np.arange(20) // 4)),
        descriptor=np.eye(5)[kind] + 0.7 * rng.normal(size=(N, 5)),
        image_ids=[f"{i:03d}" for i in rng.permutation(N)],
    )


def shown(everything, n):
    """The first n images tagged."""
    return everything.without_captions(np.arange(N) >= n)


@pytest.fixture(scope="module")
def first(everything):
    return Auto(CHEAP).fit(shown(everything, N_TAGGED), groups=np.arange(N))


def rows_of(auto):
    return [FormerRow(row.member, row.settings, row.weight, row.note) for row in auto.report_]


def again_from(auto, corpus, earlier=None, same=False):
    known = known_of(corpus, auto.hidden_, None, earlier)
    return Again(auto.used(), known, same)


def go_on(auto, before, corpus, groups=None, earlier=None, **options):
    groups = np.arange(N) if groups is None else groups
    again = again_from(auto, before, earlier, **options)
    return Auto(CHEAP).fit(corpus, groups=groups, former=rows_of(auto), again=again)


def test_every_member_learns_once(everything, first, monkeypatch):
    fits = []
    for kind in {type(member) for member in first.members_}:
        whole = kind.fit
        monkeypatch.setattr(
            kind, "fit", lambda self, c, *, fit=whole, **k: fits.append(self.name) or fit(self, c, **k)
        )
    found = go_on(first, shown(everything, N_TAGGED), shown(everything, 96))
    assert found.went_on_
    assert len(fits) == len(found.members_)


def test_it_ends_near_where_trials_would_end(everything, first):
    corpus, groups = shown(everything, 102), np.arange(N)
    found = go_on(first, shown(everything, N_TAGGED), corpus)
    tried = Auto(CHEAP).fit(corpus, groups=groups, former=rows_of(first))
    unseen = everything[np.arange(N) >= 102]

    def nats(auto):
        p = auto.annotate(unseen.without_captions())
        return -float((unseen.captions.toarray() * np.log(p)).sum() / unseen.captions.sum())

    assert found.went_on_
    assert not tried.went_on_
    assert nats(found) < nats(tried) + 0.05


def test_answers_are_those_given_while_captions_were_hidden(everything, first):
    before, corpus = shown(everything, N_TAGGED), shown(everything, 100)
    found = go_on(first, before, corpus)
    ids = everything.image_ids
    row_of, old_row_of = found.hidden_.rows_of(ids), first.hidden_.rows_of(ids)
    for m, (title, member) in enumerate(first.used().items()):
        assert found.hidden_.members[m] == title
        for image in range(N_TAGGED):
            np.testing.assert_array_equal(
                found.hidden_.p[m, row_of[image]], first.hidden_.p[m, old_row_of[image]].astype(np.float16)
            )
        said = member.annotate(before[np.arange(N_TAGGED, 100)])
        np.testing.assert_allclose(found.hidden_.p[m, row_of[N_TAGGED:100]], said, atol=1e-3)
    assert (row_of[100:] == -1).all()
    sizes = np.bincount(found.hidden_.fold_of)
    assert sizes.max() - sizes.min() <= 2


def test_no_caption_takes_part_in_what_is_said_of_its_image(everything, first):
    before, corpus = shown(everything, N_TAGGED), shown(everything, 100)
    captions = corpus.captions.toarray()
    captions[[3, 95]] = captions[[3, 95]] == 0
    other = replace(corpus, captions=sparse.csr_array(captions))
    one, two = (go_on(first, before, c).hidden_ for c in (corpus, other))
    np.testing.assert_array_equal(one.p, two.p)
    np.testing.assert_array_equal(one.fold_of, two.fold_of)


def test_near_copies_of_what_was_learned_from_are_not_judged(everything, first):
    groups = np.arange(N)
    groups[95] = groups[3]  # tagged since, like one that was tagged
    groups[97] = groups[96]  # both tagged since
    groups[120] = groups[94]  # like one that is still untagged
    corpus = shown(everything, 100)
    found = go_on(first, shown(everything, N_TAGGED), corpus, groups)
    row_of = found.hidden_.rows_of(everything.image_ids)
    assert row_of[95] == -1
    assert row_of[94] >= 0
    assert found.hidden_.fold_of[row_of[96]] == found.hidden_.fold_of[row_of[97]]
    # It was learned from, so a later model does not judge it either.
    later = go_on(found, corpus, shown(everything, 102), groups, known_of_first(everything, first))
    assert later.went_on_
    assert later.hidden_.rows_of(everything.image_ids)[95] == -1


def known_of_first(everything, first):
    return known_of(shown(everything, N_TAGGED), first.hidden_, None, None)


def test_images_that_turn_out_alike_are_not_judged_by_one_another(everything, first):
    rows = first.hidden_.rows_of(everything.image_ids)
    one = 0
    other = next(
        i for i in range(N_TAGGED) if first.hidden_.fold_of[rows[i]] != first.hidden_.fold_of[rows[one]]
    )
    groups = np.arange(N)
    groups[other] = groups[one]
    found = go_on(first, shown(everything, N_TAGGED), shown(everything, 95), groups)
    assert (found.hidden_.rows_of(everything.image_ids)[[one, other]] == -1).all()


def test_who_resembled_an_image_that_is_tagged_no_more_is_not_known(everything, first):
    corpus = everything.without_captions((np.arange(N) >= 100) | (np.arange(N) == 5))
    found = go_on(first, shown(everything, N_TAGGED), corpus)
    row_of = found.hidden_.rows_of(everything.image_ids)
    assert found.went_on_
    assert (row_of[N_TAGGED:] == -1).all()
    assert row_of[5] == -1
    assert (np.delete(row_of[:N_TAGGED], 5) >= 0).all()


def test_from_the_same_it_comes_to_the_same(everything, first):
    before, corpus = shown(everything, N_TAGGED), shown(everything, 100)
    found = go_on(first, before, corpus)
    twice = go_on(first, before, corpus)
    again = Again(
        found.used(), known_of(corpus, found.hidden_, None, known_of_first(everything, first)), True
    )
    same = Auto(CHEAP).fit(corpus, groups=np.arange(N), former=rows_of(first), again=again)
    for other in (twice, same):
        assert other.went_on_
        np.testing.assert_array_equal(other.blend_.weights, found.blend_.weights)
        np.testing.assert_array_equal(other.held_out_, found.held_out_)
        np.testing.assert_array_equal(other.hidden_.p, found.hidden_.p)
        np.testing.assert_array_equal(other.annotate(corpus), found.annotate(corpus))
        assert [replace(r, seconds=0.0) for r in other.report_] == [
            replace(r, seconds=0.0) for r in found.report_
        ]


def test_after_a_fifth_trials_are_made_again(everything, first):
    """Each step is small; what counts is how far it has come since the last trials."""
    auto, n, earlier, went_on = first, N_TAGGED, None, []
    for more in (98, 104, 115, 121):
        before, corpus = shown(everything, n), shown(everything, more)
        again = again_from(auto, before, earlier)
        auto = Auto(CHEAP).fit(corpus, groups=np.arange(N), former=rows_of(auto), again=again)
        earlier, n = (again.known if auto.went_on_ else None), more
        went_on.append(auto.went_on_)
    assert went_on == [True, True, False, True]


@pytest.mark.parametrize("altered", [3, 6])
def test_captions_that_were_altered_count_as_well(everything, first, altered):
    captions = shown(everything, N_TAGGED).captions.toarray()
    n_words = (captions > 0).sum()
    captions[:altered] = captions[:altered] == 0  # six words each
    corpus = replace(everything, captions=sparse.csr_array(captions))
    known = known_of_first(everything, first)
    assert known.change(said_of(corpus)) == pytest.approx(6 * altered / n_words)
    found = go_on(first, shown(everything, N_TAGGED), corpus)
    assert found.went_on_ == (6 * altered <= n_words / 5)


def said_of(corpus):
    return by_image(corpus.image_ids.tolist(), corpus.vocabulary.words, said_in(corpus))


def test_answers_are_hidden_and_taken_over_as_captions_are(everything, first):
    """Images with single answers: those that were asked about since are new, those from then keep their folds."""
    answers = np.zeros((N, 6))
    answers[100:106, 0] = 1
    answers[106:110, 1] = -1
    before = shown(everything, N_TAGGED).with_answers(answers[:, :] * (np.arange(N) < 108)[:, None])
    corpus = shown(everything, 93).with_answers(answers)
    auto = Auto(CHEAP).fit(before, groups=np.arange(N))
    known = known_of(before, auto.hidden_, None, None)
    assert set(known.learned_from) == set(everything.image_ids[[*range(N_TAGGED), *range(100, 108)]])
    n_then = before.captions.nnz + 8
    assert known.change(said_of(corpus)) == pytest.approx((corpus.captions.nnz + 10 - n_then) / n_then)
    groups = np.arange(N)
    groups[91] = groups[101]  # tagged since, like one that there was an answer about
    found = Auto(CHEAP).fit(corpus, groups=groups, former=rows_of(auto), again=Again(auto.used(), known))
    assert found.went_on_
    row_of, then = (one.hidden_.rows_of(everything.image_ids) for one in (found, auto))
    assert row_of[91] == -1
    assert (row_of[[90, 92, 108, 109]] >= 0).all()
    np.testing.assert_array_equal(found.hidden_.fold_of[row_of[100:108]], auto.hidden_.fold_of[then[100:108]])


def test_new_words_are_as_frequent_as_they_are_and_words_gone_are_gone(everything, first, monkeypatch):
    monkeypatch.setattr("topicture.models.blends.again.MOST_NEW_WORDS", 0.2)
    corpus = shown(everything, 93)
    new = np.zeros((N, 1))
    new[:8] = 1
    captions = np.hstack([new, corpus.captions.toarray()[:, :5]])  # "f" is rare
    corpus = replace(corpus, captions=sparse.csr_array(captions), vocabulary=Vocabulary(list("Aabcde")))
    found = go_on(first, shown(everything, N_TAGGED), corpus)
    assert found.went_on_
    assert found.hidden_.words == tuple("abcdef")
    p_w = np.tile(np.linspace(0.05, 0.3, 6) / np.linspace(0.05, 0.3, 6).sum(), (len(found.held_out_), 1))
    said = found.hidden_.in_words(found.hidden_.members[0], corpus.vocabulary.words, p_w)
    np.testing.assert_allclose(said[:, 0], p_w[:, 0], rtol=1e-6)
    np.testing.assert_allclose(said.sum(axis=1), 1, rtol=1e-6)
    ratio = said[:, 1:] / np.maximum(found.hidden_.p[0][:, :5].astype(float), 1e-6)
    np.testing.assert_allclose(ratio, np.tile(ratio[:, :1], 5), rtol=1e-3)  # others share what is left
    np.testing.assert_allclose(found.held_out_.sum(axis=1), 1)
    np.testing.assert_allclose(found.held_out_[:, 0].mean(), 8 / captions.sum(), rtol=0.5)
    # Its members have learned the word.
    p = found.annotate(corpus)[:, 0]
    assert p[:8].mean() > 1.2 * p[8:93].mean()
    monkeypatch.setattr("topicture.models.blends.again.MOST_NEW_WORDS", 0.1)
    assert not go_on(first, shown(everything, N_TAGGED), corpus).went_on_


def test_texts_of_words_are_those_of_the_corpus(everything, monkeypatch):
    """What a text encoder says of words goes with them: the last model has its own."""
    monkeypatch.setattr("topicture.models.blends.again.MOST_NEW_WORDS", 0.2)
    vectors = np.random.default_rng(0).normal(size=(6, 5))
    told = replace(everything, word_vectors=vectors)
    before, corpus = shown(told, N_TAGGED), shown(told, 95)
    models = ["knn", "text-match"]
    auto = Auto(models).fit(before, groups=np.arange(N))
    more = replace(
        corpus,
        captions=sparse.csr_array(np.hstack([corpus.captions.toarray(), np.arange(N)[:, None] < 6])),
        vocabulary=Vocabulary(list("abcdefg")),
        word_vectors=np.vstack([vectors, np.ones((1, 5))]),
    )
    again = again_from(auto, before)
    found = Auto(models).fit(more, groups=np.arange(N), former=rows_of(auto), again=again)
    assert found.went_on_
    assert found.hidden_.rows_of(more.image_ids)[94] >= 0


def test_members_that_there_was_no_time_for_are_tried(everything, first):
    rows = rows_of(first)
    other = next(row for row in rows if row.weight == 0 or row.member != rows[0].member)
    late = other._replace(weight=0.0, note="not tried: the time was up")
    rows = [late if row is other else row for row in rows]
    again = again_from(first, shown(everything, N_TAGGED))
    corpus = shown(everything, 95)
    found = Auto(CHEAP).fit(corpus, groups=np.arange(N), former=rows, again=again)
    assert not found.went_on_
    assert any(row.member == late.member and row.perplexity is not None for row in found.report_)


def test_whole_groups_are_taken_over_as_they_were_hidden(everything, first):
    """Images of a group of which something was learned are not far from it."""
    before, corpus = shown(everything, N_TAGGED), shown(everything, 100)
    groups = np.arange(N) // 5
    far = first.hidden_._replace(fold_of=groups[np.argsort(everything.image_ids)][:N_TAGGED] % 6)
    far = far._replace(image_ids=everything.image_ids[:N_TAGGED], fold_of=groups[:N_TAGGED] % 6)
    again = Again(first.used(), known_of(before, first.hidden_, far, None))
    groups[93] = 0
    found = honest_answers(again.known.far, again, list(first.used()), corpus, groups)
    judged = set(found.image_ids.tolist())
    assert everything.image_ids[93] not in judged
    assert set(everything.image_ids[[94, 95, 99]]) <= judged
    # Groups are other ones today: hardly an answer is honest.
    assert honest_answers(again.known.far, again, list(first.used()), corpus, np.arange(N) % 7) is None


def test_files_keep_it_and_damage_is_told(everything, first, tmp_path):
    known = known_of(shown(everything, N_TAGGED), first.hidden_, first.hidden_, None)
    write_known(tmp_path / "known.safetensors", known)
    read = read_known(tmp_path / "known.safetensors")
    for one, other in ((known.near, read.near), (known.far, read.far)):
        assert one.members == other.members
        assert one.words == other.words
        for name in ("image_ids", "fold_of", "p"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(read.learned_from, known.learned_from)
    np.testing.assert_array_equal(read.tried.toarray(), known.tried.toarray())
    assert read.change(said_of(shown(everything, N_TAGGED))) == 0
    p, fold_of = known.near.p, known.near.fold_of
    damages = [{"p": -p}, {"p": 9 * p + 1}, {"fold_of": 0 * fold_of}]
    damages += [{"fold_of": np.where(fold_of == 0, other, fold_of)} for other in (-1, 2**31 - 1)]
    for number, damage in enumerate(damages):
        broken = known._replace(near=known.near._replace(**damage))
        write_known(tmp_path / f"broken{number}.safetensors", broken)
        with pytest.raises(ModelFileError, match="learn again"):
            read_known(tmp_path / f"broken{number}.safetensors")
    other_size = known._replace(near=known.near._replace(fold_of=known.near.fold_of[:-1]))
    write_known(tmp_path / "size.safetensors", other_size)
    with pytest.raises(ModelFileError, match="learn again"):
        read_known(tmp_path / "size.safetensors")


def test_what_is_too_large_is_not_kept(everything, first, monkeypatch):
    monkeypatch.setattr(hidden_answers, "MOST_BYTES", first.hidden_.p.nbytes // 2 - 1)
    assert known_of(shown(everything, N_TAGGED), first.hidden_, None, None) is None
