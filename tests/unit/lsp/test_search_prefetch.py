"""A search that is made ahead answers for the same words only."""

import asyncio

import pytest

from citewell.lsp.state.memory import SearchPrefetch
from citewell.model import Hit, Query, SearchResult, Work

pytestmark = pytest.mark.asyncio
GRAPHS, TREES = Query(text="graph attention"), Query(text="trees")
FOUND = SearchResult(hits=(Hit(Work(id="w:1", title="Graph Attention Networks"), 1.0),))


def search(result=FOUND, calls=None, wait=0.0):
    async def run():
        if calls is not None:
            calls.append("begun")
        await asyncio.sleep(wait)
        if isinstance(result, Exception):
            raise result
        if calls is not None:
            calls.append("done")
        return result

    return run


async def settle():
    for _ in range(10):
        await asyncio.sleep(0.002)


async def test_the_same_words_get_the_better_list_once_it_is_there():
    better = SearchPrefetch(pause=0.0)
    better.seek(GRAPHS, search())
    assert better.of(GRAPHS) is None
    await settle()
    assert better.of(GRAPHS) == FOUND
    assert better.of(TREES) is None


async def test_typing_on_gives_up_the_search_for_the_words_before():
    better, calls = SearchPrefetch(pause=0.0), []
    better.seek(GRAPHS, search(calls=calls, wait=5.0))
    await settle()
    better.seek(TREES, search())
    await settle()
    assert calls == ["begun"]
    assert better.of(GRAPHS) is None
    assert better.of(TREES) == FOUND


@pytest.mark.parametrize("result", [SearchResult(), RuntimeError("the worker died")])
async def test_a_search_that_finds_nothing_or_fails_leaves_the_first_list(result):
    better = SearchPrefetch(pause=0.0)
    better.seek(GRAPHS, search(result))
    await settle()
    assert better.of(GRAPHS) is None


async def test_a_search_that_still_runs_is_waited_for():
    prepared, calls = SearchPrefetch(pause=0.0), []
    prepared.seek(GRAPHS, search(calls=calls, wait=0.05))
    assert await prepared.wait(TREES) is None
    assert await prepared.wait(GRAPHS) == FOUND
    assert calls == ["begun", "done"]


async def test_whoever_waits_gets_nothing_when_the_search_is_dropped():
    prepared = SearchPrefetch(pause=0.0)
    prepared.seek(GRAPHS, search(wait=5.0))
    waiting = asyncio.ensure_future(prepared.wait(GRAPHS))
    await settle()
    prepared.stop()
    assert await waiting is None
