"""The data behind Photos, Search and Photo is what pages were promised."""

import pytest

PHOTO = {"id", "path", "name", "width", "height", "taken", "tags", "by_machine", "suggestions", "edit_of"}


def test_photos_come_in_pages(shared):
    status, whole = shared.get("photos", limit=1000)
    assert status == 200
    assert whole["total"] == len(whole["photos"]) == 64
    assert all(set(photo) == PHOTO for photo in whole["photos"])
    pages = [shared.get("photos", offset=offset, limit=10)[1] for offset in range(0, 70, 10)]
    assert [photo for page in pages for photo in page["photos"]] == whole["photos"]
    assert {page["total"] for page in pages} == {64}
    backwards = shared.get("photos", limit=1000, descending=1)[1]["photos"]
    assert backwards == whole["photos"][::-1]


def test_filters_divide_the_collection(shared):
    def ids(**filters):
        return {photo["id"] for photo in shared.get("photos", limit=1000, **filters)[1]["photos"]}

    everything = ids()
    assert ids(tagged="yes") | ids(tagged="no") == everything
    assert not ids(tagged="yes") & ids(tagged="no")
    assert len(ids(tagged="yes")) == 48
    assert ids(suggested="yes") == {
        photo["id"] for photo in shared.get("photos", limit=1000)[1]["photos"] if photo["suggestions"]
    }
    assert ids(folder="trip") == {
        photo["id"]
        for photo in shared.get("photos", limit=1000)[1]["photos"]
        if photo["path"].startswith("trip/")
    }
    with_word = ids(word="rose")
    assert with_word
    for image in list(with_word)[:5]:
        assert "rose" in {tag["word"] for tag in shared.get(f"photos/{image}")[1]["tags"]}
    waiting = ids(word="rose", suggested="yes")
    for image in list(waiting)[:5]:
        assert "rose" in {each["word"] for each in shared.get(f"photos/{image}")[1]["suggestions"]}
    assert ids(word="no such word") == set()
    assert ids(**{"from": "2020-09-01", "to": "2020-09-30"}) == everything
    assert ids(**{"from": "2020-10-01"}) == set()


def test_a_tag_stands_for_those_below_it(served):
    def ids(**filters):
        return {photo["id"] for photo in served.get("photos", limit=1000, **filters)[1]["photos"]}

    roses, waiting = ids(word="rose"), ids(word="rose", suggested="yes")
    served.post("words/parent", {"word": "rose", "parent": "flower"})
    assert ids(word="flower") == roses
    assert ids(word="flower", suggested="yes") == waiting
    one = min(roses)
    served.post("decide", {"decisions": [{"image": one, "word": "flower", "verdict": "rejected"}]})
    assert ids(word="flower") == roses - {one}


def test_the_first_page_of_a_large_collection_does_not_wait_for_all_of_it(served, monkeypatch):
    from topicture.app.verbs.browsing import columns

    pages = [{"limit": 10}, {"limit": 10, "offset": 60}, {"limit": 10, "offset": 3, "descending": 1}]
    whole = [served.get("photos", **page)[1] for page in pages]
    assert [page["total"] for page in whole] == [64] * 3
    monkeypatch.setattr(columns, "AT_ONCE", 10)
    made = []
    monkeypatch.setattr(columns, "_make", made.append)  # as if that took long
    columns._kept.clear()
    assert [served.get("photos", **page)[1] for page in pages] == whole
    assert made == [served.library.folder]
    monkeypatch.undo()
    columns._in_the_making.clear()
    assert [served.get("photos", **page)[1] for page in pages] == whole


@pytest.mark.parametrize(
    "query",
    [
        {"offset": -1},
        {"offset": "x"},
        {"limit": 0},
        {"limit": 100_000},
        {"order": "size"},
        {"tagged": "maybe"},
        {"from": "yesterday"},
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused_in_words(served, query):
    status, answer = served.get("photos", **query)
    assert status == 400
    assert answer["error"]["message"]


def test_one_photo_has_its_tags_with_their_origin(served):
    _, page = served.get("photos", tagged="no", suggested="yes", limit=1)
    image = page["photos"][0]["id"]
    _, before = served.get(f"photos/{image}")
    assert before["tags"] == []
    assert [each["probability"] for each in before["suggestions"]] == sorted(
        (each["probability"] for each in before["suggestions"]), reverse=True
    )
    word = before["suggestions"][0]["word"]
    served.post("decide", {"decisions": [{"image": image, "word": word, "verdict": "present"}]})
    served.post("decide", {"decisions": [{"image": image, "word": "fog", "verdict": "rejected"}]})
    _, after = served.get(f"photos/{image}")
    assert [(tag["word"], tag["source"]) for tag in after["tags"]] == [(word, "review")]
    assert [(tag["word"], tag["source"]) for tag in after["rejected"]] == [("fog", "review")]
    assert word not in {each["word"] for each in after["suggestions"]}
    _, tagged = served.get("photos", tagged="yes", limit=1)
    file_tag = served.get(f"photos/{tagged['photos'][0]['id']}")[1]["tags"][0]
    assert file_tag["source"] == "file"
    assert file_tag["at"] > 1.6e9


def test_a_photo_that_is_not_there_is_not_found(served):
    for path in ("photos/9999", "photos/9999/similar", "photos/9999/why?word=rose"):
        status, answer = served.get(path)
        assert status in (400, 404)
        assert answer["error"]["message"]


def test_why_tells_members_neighbours_and_regions(served):
    _, page = served.get("photos", tagged="no", suggested="yes", limit=1)
    image = page["photos"][0]["id"]
    suggestion = served.get(f"photos/{image}")[1]["suggestions"][0]
    status, reasons = served.get(f"photos/{image}/why", word=suggestion["word"])
    assert status == 200
    assert reasons["probability"] == suggestion["probability"]
    assert reasons["members"]
    assert sum(member["weight"] for member in reasons["members"]) == pytest.approx(1)
    assert all(0 <= member["probability"] <= 1 for member in reasons["members"])
    assert len(reasons["neighbours"]) == 8
    assert {neighbour["has"] for neighbour in reasons["neighbours"]} <= {True, False}
    for neighbour in reasons["neighbours"]:
        words = {tag["word"] for tag in served.get(f"photos/{neighbour['id']}")[1]["tags"]}
        assert words
        assert neighbour["has"] == (suggestion["word"] in words)
    _, quick = served.get(f"photos/{image}/why", word=suggestion["word"], members="no")
    assert quick["members"] == []
    assert quick["neighbours"] == reasons["neighbours"]
    _, unknown = served.get(f"photos/{image}/why", word="fog")
    assert "learn again" in unknown["note"]


def test_similar_photos_are_the_command_s(served):
    from topicture.app.verbs.searching import similar

    _, answer = served.get("photos/5/similar", limit=6)
    with served.library.reading() as catalog:
        expected = similar(catalog, 5, 6)
    assert [photo["id"] for photo in answer["photos"]] == [photo.image for photo in expected]
    assert [photo["likeness"] for photo in answer["photos"]] == [photo.likeness for photo in expected]


def test_search_ranks_as_the_command_does(served):
    for query in ("rose", "rose -sea", "sea sand"):
        of_command = served.library.search(query, 64)
        pages = [served.get("search", q=query, offset=offset, limit=7)[1] for offset in range(0, 70, 7)]
        hits = [hit for page in pages for hit in page["hits"]]
        assert [hit["id"] for hit in hits] == [hit.image for hit in of_command]
        assert [hit["probability"] for hit in hits] == [hit.probability for hit in of_command]
        assert [hit["said"] for hit in hits] == [list(hit.said) for hit in of_command]
        assert {page["total"] for page in pages} == {len(of_command)}
    assert pages[0]["wanted"] == ["sea", "sand"]
    assert served.get("search", q="rose -sea")[1]["unwanted"] == ["sea"]


def test_search_takes_alternatives_and_filters(shared):
    def found(**question):
        return shared.get("search", limit=1000, **question)[1]

    either = found(q="rose OR sea")
    assert either["any_of"] == [["rose", "sea"]]
    assert [(term["text"], term["joined"]) for term in either["terms"]] == [("rose", False), ("sea", True)]
    assert either["total"] >= max(found(q="rose")["total"], found(q="sea")["total"])
    untagged = {photo["id"] for photo in shared.get("photos", tagged="no", limit=1000)[1]["photos"]}
    among = found(q="rose OR sea", tagged="no")
    assert {hit["id"] for hit in among["hits"]} == {hit["id"] for hit in either["hits"]} & untagged
    assert among["total"] == len(among["hits"]) > 0
    assert found(q="rose", **{"from": "2099-01-01"})["total"] == 0


def test_unknown_words_come_with_the_nearest(served):
    status, answer = served.get("search", q="rosse sea")
    assert status == 200
    assert [(each["word"], each["nearest"][0]) for each in answer["unknown"]] == [("rosse", "rose")]
    assert answer["suggestion"] == "rose sea"
    assert answer["total"] == 0
    assert "minus" in served.get("search", q="-")[1]["problem"]


def test_words_are_completed(served):
    def words(q, **more):
        return [each["word"] for each in served.get("complete", q=q, **more)[1]["words"]]

    assert set(words("")) == {"rose", "grass", "sea", "sand"}
    assert set(words("s")) == {"sea", "sand", "rose", "grass"}
    assert set(words("s")[:2]) == {"sea", "sand"}
    assert words("SAN") == ["sand"]
    assert len(words("", limit=2)) == 2
    assert words("q") == []


def test_folders_are_counted(served):
    assert served.get("folders")[1] == [{"folder": "", "photos": 32}, {"folder": "trip", "photos": 32}]
