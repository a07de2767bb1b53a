"""An engine that learns: the order changes, the papers do not, and what is erased is forgotten."""

import json

import pytest
from msgspec.structs import replace

from citewell.engine.history_store import HistoryStore
from citewell.engine.local import LocalEngine
from citewell.model import CitingPaper, Query
from citewell.model.feedback import Feedback, name_of, passed_over
from citewell.model.query import Reference
from citewell.options import Options

TITLES = (
    ("Attention in Neural Translation", "Translation with attention over words."),
    ("Parsing with Attention", "Attention helps a neural parser of sentences."),
    ("Attention over Images", "Attention selects the parts of an image."),
    ("Speech and Attention", "Attention over frames of speech."),
    ("Word Vectors from Counts", "Vectors of words from global counts."),
)
QUERY = Query(sentence="Attention is used in many tasks [CITATION].")


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    """Settings whose library holds the works above."""
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import FileSource

    folder = tmp_path_factory.mktemp("libraries")
    records = folder / "records.jsonl"
    lines = [
        {"id": f"t:{n}", "title": title, "abstract": abstract, "year": 2015, "authors": ["A. B"],
         "kind": "inproceedings", "source": "test-records"}
        for n, (title, abstract) in enumerate(TITLES)
    ]  # fmt: skip
    records.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    base = Options()
    build_library(
        folder / "small",
        add=[FileSource(path=str(records), format="records")],
        builders=default_builders(base),
    )
    return replace(base, library=replace(base.library, path=folder, name="small"))


@pytest.fixture(params=["learned", "none"])
def opened(options, tmp_path, request):
    """`opened()` gives another engine over one history, with and without the trained ranker."""
    chosen = replace(options, retrieval=replace(options.retrieval, ranker=request.param))
    engines = []

    def open_one(enabled=True):
        wanted = replace(chosen, learning=replace(chosen.learning, enabled=enabled))
        store = HistoryStore(tmp_path / "data" / "history.sqlite")
        engines.append(LocalEngine.open(wanted, history=store))
        return engines[-1]

    yield open_one
    for engine in engines:
        engine.close()


def ids(result):
    return [hit.work.id for hit in result.hits]


def accept(engine, result, rank, project="/paper", query=QUERY):
    works = [hit.work for hit in result.hits]
    taken = works[rank]
    return engine.learn(
        Feedback(
            accepted=name_of(taken),
            dismissed=passed_over(works, taken.id),
            query=query,
            project=project,
            variant=result.variant,
        )
    )


def test_an_accepted_paper_stands_higher_the_next_time_and_says_why(opened):
    engine = opened()
    before = engine.find(QUERY)
    taken = ids(before)[2]
    assert accept(engine, before, 2) == ()
    after = engine.find(QUERY)
    assert ids(after).index(taken) < 2
    assert sorted(ids(after)) == sorted(ids(before)), "no paper comes or goes"
    hit = after.hits[ids(after).index(taken)]
    evidence = [e for e in hit.evidence if e.retriever == "history"]
    assert [(e.rank, e.before, e.fields) for e in evidence] == [
        (ids(after).index(taken) + 1, 3, ("accepted before",))
    ]
    scores = [one.score for one in after.hits]
    assert scores == sorted(scores, reverse=True)
    assert (before.variant + "+history") == after.variant


def test_dismissed_papers_fall_in_the_project_that_dismissed_them(opened):
    engine = opened()
    before = engine.find(QUERY)
    accept(engine, before, 3, project="/one")
    sentence = "Many tasks use attention, in one way or another [CITATION]."
    here = engine.find(Query(sentence=sentence, paper=CitingPaper(project="/one")))
    there = engine.find(Query(sentence=sentence, paper=CitingPaper(project="/two")))
    taken, first = ids(before)[3], ids(before)[0]
    assert ids(here).index(taken) == 0
    fell = {e.fields for h in here.hits for e in h.evidence if e.retriever == "history"}
    assert ("dismissed here",) in fell
    assert not any(e.fields == ("dismissed here",) for h in there.hits for e in h.evidence), (
        "another project has dismissed nothing"
    )
    assert first in ids(here)


def paper_citing(*cited):
    """A paper that cites these titles, so many times each."""
    references = tuple(Reference(title=title, times=times) for title, times in cited)
    return CitingPaper(project="/paper", references=references)


def test_what_the_document_cites_stands_higher_before_anything_was_accepted(opened, tmp_path):
    engine, off = opened(), opened(enabled=False)
    third = off.find(QUERY).hits[2].work
    query = Query(sentence=QUERY.sentence, paper=paper_citing((third.title, 3)))
    before, after = ids(off.find(query)).index(third.id), engine.find(query)
    assert ids(after).index(third.id) < before
    hit = after.hits[ids(after).index(third.id)]
    (evidence,) = [e for e in hit.evidence if e.retriever == "history"]
    assert evidence.fields == ("cited here",)
    assert not (tmp_path / "data").exists(), "nothing of it is kept"


def test_what_the_sentence_cites_already_stands_lower(opened):
    engine, off = opened(), opened(enabled=False)
    paper = paper_citing((TITLES[0][0], 1))
    first = Query(sentence=QUERY.sentence, paper=paper)
    query = Query(sentence=QUERY.sentence, paper=paper, beside=(TITLES[0][0],))
    assert ids(engine.find(query))[-1] == "t:0"
    assert ids(engine.find(first))[-1] != "t:0"
    assert ids(off.find(query)) == ids(off.find(first)), "only learning looks at it"


def test_another_engine_over_the_same_history_has_learned_too(opened):
    one, other = opened(), opened()
    before = other.find(QUERY)
    accept(one, one.find(QUERY), 2)
    assert ids(other.find(QUERY)) != ids(before)
    assert ids(other.find(QUERY)) == ids(one.find(QUERY))


def test_what_is_erased_is_forgotten_by_engines_that_run(opened):
    engine = opened()
    before = engine.find(QUERY)
    accept(engine, before, 2)
    assert engine.find(QUERY) != before
    engine._history._store.erase()
    after = engine.find(QUERY)
    assert (after.hits, after.variant) == (before.hits, before.variant)


def test_switched_off_nothing_is_kept_and_nothing_of_what_was_kept_is_used(opened, tmp_path):
    off = opened(enabled=False)
    before = off.find(QUERY)
    assert accept(off, before, 2) == ()
    assert not (tmp_path / "data").exists()
    on = opened()
    accept(on, before, 2)
    assert ids(on.find(QUERY)) != ids(before)
    after = off.find(QUERY)
    assert (after.hits, after.variant) == (before.hits, before.variant)


def test_a_damaged_history_costs_no_search_and_is_told(opened, tmp_path):
    engine = opened()
    before = engine.find(QUERY)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "history.sqlite").write_bytes(b"damaged" * 1000)
    assert ids(engine.find(QUERY)) == ids(before)
    assert [p.code for p in engine.status().problems] == ["history-damaged"]
    assert [p.code for p in accept(engine, before, 2)] == ["history-damaged"]
    assert ids(engine.find(QUERY)) != ids(before), "a new history has begun"


def test_without_a_library_what_is_accepted_is_kept_all_the_same(options, tmp_path):
    nowhere = replace(options, library=replace(options.library, name="missing"))
    store = HistoryStore(tmp_path / "history.sqlite")
    engine = LocalEngine.open(nowhere, history=store)
    assert engine.learn(Feedback(accepted=name_of_title("On Walking"), query=QUERY)) == ()
    (event,) = store.read()
    assert (event.title, event.encoder, event.asked) == ("On Walking", "", b"")
    engine.close()


def name_of_title(title):
    from citewell.model.feedback import PaperName

    return PaperName("x:1", title)
