"""Sources behind a local engine: they add to a list later, and never hold it up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.engine.online import Online
from citewell.engine.online_search import Late, joined
from citewell.model import Author, CitewellError, Evidence, Hit, Provenance, Query, Work
from citewell.model.cancel import Cancel, Cancelled
from citewell.options import Options
from citewell.options.online import SourceOptions
from citewell.options.tree import LibraryOptions
from citewell.sources.combine import merge
from citewell.sources.contract import Failed, SourceQuery

KETTLES = "On the Patience of Kettles"


@pytest.fixture
def options(fake_sources: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    return Options(
        library=LibraryOptions(path=tmp_path / "none"),
        sources=SourceOptions(allow=("openreview", "crossref"), base_url=fake_sources.url, timeout_s=5.0),
    )  # fmt: skip


@pytest.fixture
def engine(options: Options) -> Iterator[LocalEngine]:
    engine = LocalEngine.open(options)
    yield engine
    engine.close()


def until(found: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.02)
    raise AssertionError("not in time")


def test_a_search_answers_at_its_own_time_and_the_late_records_join_the_next(
    engine: LocalEngine, fake_sources: Any
) -> None:
    fake_sources.delay = 4.0
    begin = time.monotonic()
    first = engine.find(Query(text="patience of kettles"))
    assert time.monotonic() - begin < 3.5
    assert not first.hits
    hits = until(lambda: engine.find(Query(text="Patience of  kettles")).hits)
    assert hits[0].work.title == KETTLES
    assert [evidence.retriever for evidence in hits[0].evidence] == ["openreview"]
    assert len(fake_sources.of("openreview")) == 1


def test_a_record_of_a_source_can_be_looked_up_like_one_of_the_library(
    engine: LocalEngine, fake_sources: Any
) -> None:
    hit = until(lambda: engine.find(Query(text="patience of kettles")).hits)[0]
    assert engine.works([hit.work.id, "nobody:1"]) == [hit.work, None]


def test_only_what_was_typed_is_sent(engine: LocalEngine, fake_sources: Any) -> None:
    engine.find(Query(sentence="Kettles wait [CITATION]", before=("A secret.",)))
    query = Query(text="patience of kettles", sentence="A secret sentence [CITATION]")
    until(lambda: engine.find(query).hits)
    assert not any("secret" in one.target or "wait" in one.target for one in fake_sources.log)


def test_filters_hold_for_records_of_sources_too(engine: LocalEngine, fake_sources: Any) -> None:
    until(lambda: engine.find(Query(text="patience of kettles")).hits)
    for wrong in ({"year_from": 2021}, {"year_to": 2019}, {"author": "Nobody"}, {"venue": "acl"}):
        assert not engine.find(Query(text="patience of kettles", **wrong)).hits, wrong  # type: ignore[arg-type]
    right = Query(text="patience of kettles", year_from=2020, author="Wang", venue="iclr")
    assert engine.find(right).hits


def test_a_source_that_fails_is_told_and_asked_again_later(
    engine: LocalEngine, fake_sources: Any, fakes: Any
) -> None:
    fake_sources.fail("openreview", fakes.Fault(status=403))
    engine.wait_online(Query(text="patience of kettles"), 5.0)
    result = engine.find(Query(text="patience of kettles"))
    assert [problem.code for problem in result.dropped] == ["source-unanswered"]
    assert "OpenReview" in result.dropped[0].message


def test_searches_send_nothing_when_the_user_wants_none_to(
    options: Options, fake_sources: Any
) -> None:
    quiet = replace(options, sources=replace(options.sources, search=False))
    engine = LocalEngine.open(quiet)
    engine.find(Query(text="patience of kettles"))
    # By the time that a later search is sent, this one would have been.
    asking = LocalEngine.open(options)
    asking.find(Query(text="patience of cups"))
    until(lambda: fake_sources.log)
    engine.close()
    asking.close()
    assert not any("kettles" in one.target.lower() for one in fake_sources.log)


def test_a_check_asks_the_sources_only_when_it_is_told_to(
    engine: LocalEngine, fake_sources: Any
) -> None:
    from citewell.model.check import Claim, Verdict

    claim = Claim(
        title=KETTLES, authors=(Author("Wang", "Jun"), Author("Example", "Ada")), year=2020
    )
    assert not engine.check([claim]).checks  # there is no library
    assert not fake_sources.log
    (check,) = engine.check([claim], online=True).checks
    assert check.verdict is Verdict.VERIFIED
    assert "openreview" in check.sources


def test_a_cancelled_question_stops_at_once(options: Options, fake_sources: Any) -> None:
    fake_sources.delay = 20.0
    online = Online(options)
    cancel = Cancel()
    begin = time.monotonic()
    import threading

    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(Cancelled):
        online.within(None).match([SourceQuery(title=KETTLES)], cancel=cancel)
    assert time.monotonic() - begin < 15.0
    online.close()


def test_several_searches_ask_each_text_once_and_join_the_answers(
    engine: LocalEngine, fake_sources: Any
) -> None:
    queries = [Query(text=KETTLES, sentence=one) for one in ("One.", "Another.")]
    results = engine.ask_sources(queries, engine.find_batch(queries))
    assert [found.hits[0].work.title for found in results] == [KETTLES, KETTLES]
    assert len(fake_sources.of("openreview")) == 1
    (kept,) = engine.works([results[0].hits[0].work.id])
    assert kept is not None and kept.title == KETTLES


def test_several_searches_go_on_without_a_source_that_does_not_answer(
    engine: LocalEngine, fake_sources: Any, fakes: Any
) -> None:
    fake_sources.fail("crossref", fakes.Fault(kind="hang"))
    query = Query(text=KETTLES)
    (found,) = engine.ask_sources([query], engine.find_batch([query]))
    assert found.hits[0].work.title == KETTLES
    (problem,) = found.dropped
    assert problem.code == "source-unanswered" and "Crossref" in problem.message


def test_several_searches_are_given_up_when_they_are_cancelled(
    engine: LocalEngine, fake_sources: Any, fakes: Any
) -> None:
    import threading

    fake_sources.fail("openreview", fakes.Fault(kind="hang"))
    fake_sources.fail("crossref", fakes.Fault(kind="hang"))
    cancel = Cancel()

    def end() -> None:
        until(lambda: fake_sources.log)
        cancel.set()

    threading.Thread(target=end).start()
    with pytest.raises(Cancelled):
        engine.ask_sources(
            [Query(text=KETTLES)], engine.find_batch([Query(text=KETTLES)]), cancel=cancel
        )


def test_several_searches_send_nothing_that_is_not_wanted(
    options: Options, fake_sources: Any
) -> None:
    query = Query(text=KETTLES)
    off = SourceOptions(base_url=fake_sources.url)
    for sources in (off, replace(options.sources, search=False)):
        engine = LocalEngine.open(replace(options, sources=sources))
        (found,) = engine.ask_sources([query], engine.find_batch([query]))
        engine.close()
        assert [problem.code for problem in found.dropped] == ["sources-off"]
    assert not fake_sources.log


def test_every_source_says_whether_it_answers(
    options: Options, fake_sources: Any, fakes: Any
) -> None:
    fake_sources.fail("crossref", fakes.Fault(status=500))
    online = Online(options)
    answers = online.reach()
    online.close()
    assert set(answers) == {"crossref", "openreview"}
    assert isinstance(answers["crossref"], Failed)
    assert not isinstance(answers["openreview"], Failed)


def test_without_an_allowed_source_there_is_nothing_to_open(options: Options) -> None:
    for names, code in ((), "sources-off"), (("nowhere",), "sources-unknown"):
        with pytest.raises(CitewellError) as raised:
            Online(replace(options, sources=replace(options.sources, allow=names)))
        assert raised.value.problem.code == code


# -- how the lists are joined -----------------------------------------------------------------


def work(name: str, title: str, **fields: Any) -> Work:
    return Work(id=name, title=title, provenance=(Provenance(name.partition(":")[0]),), **fields)


def listed(count: int) -> list[Hit]:
    return [
        Hit(
            work(f"acl:{n}", f"Paper number {n} of the library"), 1 / n, (Evidence("bm25", n, 1.0),)
        )
        for n in range(1, count + 1)
    ]


def late(*works: Work) -> Late:
    return Late(tuple(merge([one]) for one in works))


def names(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.work.id for hit in hits]


def test_a_title_that_holds_all_the_words_comes_first_when_the_library_s_best_does_not() -> None:
    online = late(work("crossref:a", "Alpha"), work("crossref:k", "On the Patience of Kettles"))
    hits = joined(listed(3), online, Query(text="patience kettles"), 20, lambda _: None)
    assert names(hits)[0] == "crossref:k"


def test_a_work_stands_in_the_list_once_and_names_all_who_found_it() -> None:
    held = work("acl:1", "Paper number 1 of the library", doi="10.1/x")
    hits = [Hit(held, 1.0, (Evidence("bm25", 1, 1.0),))]
    same = work("crossref:x", "PAPER number 1 of the Library", doi="10.1/x")
    (hit,) = joined(hits, late(same), Query(text="paper"), 20, lambda _: None)
    assert [one.retriever for one in hit.evidence] == ["bm25", "crossref"]


def test_the_library_s_own_record_is_shown_where_it_has_one() -> None:
    own = work("acl:99", "Alpha", doi="10.1/alpha")
    hits = joined([], late(work("crossref:a", "Alpha")), Query(text="x"), 20, lambda _: own)
    assert names(hits) == ["acl:99"]
