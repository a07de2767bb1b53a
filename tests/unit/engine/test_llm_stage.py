"""The language model's stage: what it moves, and how a worker process passes it on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from citewell.engine.llm_stage import permuted
from citewell.engine.local import LocalEngine
from citewell.engine.query_preprocessor import variant_name, variant_of
from citewell.engine.worker_client import WorkerEngine
from citewell.model import Query, Work
from citewell.model.cancel import Cancel, Cancelled
from citewell.options import Options
from citewell.options.online import LlmOptions
from citewell.ranking.contract import Ordering

WORKS = [Work(id="a", title="Apples"), Work(id="b", title="Attention", abstract="It attends well.")]


def test_a_permutation_moves_papers_with_their_confidence_and_keeps_the_scores() -> None:
    ordering = Ordering(
        np.array([7, 5, 3, 1]),
        np.array([4.0, 3.0, 2.0, 1.0], np.float32),
        np.array([0.4, 0.3, 0.2, 0.1], np.float32),
    )
    changed, moved = permuted(ordering, (2, 0, 1))
    assert changed.order.tolist() == [3, 7, 5, 1]
    assert changed.scores.tolist() == [4.0, 3.0, 2.0, 1.0]
    assert changed.confidence is not None
    assert np.allclose(changed.confidence, [0.2, 0.4, 0.3, 0.1])
    assert [(one.rank, one.before) for one in moved] == [(1, 3), (2, 1), (3, 2)]


def test_the_lists_of_other_queries_have_names_of_their_own() -> None:
    assert variant_name("bm25", 0) == "bm25"
    assert variant_of(variant_name("bm25", 2)) == 2
    assert variant_of("dense") == 0


@pytest.fixture
def options(chat: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Options]:
    """Settings that name a scripted model, and no library."""
    pytest.importorskip("dspy")
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    reply = '{"choice": "2", "reason": "r", "supports": "yes", "words": "it attends well"}'
    server = chat.ChatServer(lambda request: chat.Reply(reply))
    base = Options()
    yield replace(
        base,
        library=replace(base.library, path=tmp_path / "none"),
        llm=LlmOptions(provider="vllm", model="m", base_url=server.url),
    )
    server.close()


@pytest.mark.parametrize("kind", [LocalEngine.open, WorkerEngine], ids=["local", "worker"])
def test_an_engine_asks_the_model_in_its_own_process_and_without_a_library(
    options: Options, kind: Any
) -> None:
    engine = kind(options)
    try:
        picked = engine.pick(Query(sentence="We attend [CITATION]."), WORKS)
        assert (picked.work, picked.by, picked.reason) == ("b", "model", "r")
        supported = engine.verify("It attends.", WORKS[1])
        assert (supported.verdict, supported.words) == ("yes", "It attends well")
        status = engine.status()
        assert status.llm == "vllm m"
        assert status.budget.used.requests == 2
        assert status.budget.used.input_tokens == 200
    finally:
        engine.close()


def test_a_cancelled_question_ends_at_once(options: Options, chat: Any) -> None:
    server = chat.ChatServer(lambda request: chat.Reply("{}", seconds=20))
    slow = replace(options, llm=replace(options.llm, base_url=server.url))
    engine = LocalEngine.open(slow)
    cancel = Cancel()
    engine.pick(Query(), [])  # DSPy is imported
    threading.Timer(0.3, cancel.set).start()
    begin = time.monotonic()
    with pytest.raises(Cancelled):
        engine.pick(Query(sentence="x [CITATION]"), WORKS, cancel=cancel)
    assert time.monotonic() - begin < 5
    engine.close()
    server.close()


@pytest.mark.parametrize("how", ["cancelled", "late"])
@pytest.mark.parametrize("kind", [LocalEngine.open, WorkerEngine], ids=["local", "worker"])
def test_the_server_sees_that_nobody_waits_any_more_and_what_it_may_have_cost_is_counted(
    options: Options, chat: Any, kind: Any, how: str
) -> None:
    requested, warm = threading.Event(), threading.Event()

    def script(request: dict[str, Any]) -> Any:
        if not warm.is_set():
            return chat.Reply('{"choice": "1", "reason": "r"}')
        requested.set()
        return chat.Reply("{}", seconds=600)

    server = chat.ChatServer(script)
    limit = 4000 if how == "late" else 600_000
    llm = replace(options.llm, base_url=server.url, timeout_ms=limit)
    engine = kind(replace(options, llm=llm))
    try:
        engine.pick(Query(sentence="x [CITATION]"), WORKS)  # all is imported
        before = engine.status().budget.used
        warm.set()
        if how == "late":
            picked = engine.pick(Query(sentence="x [CITATION]"), WORKS)
            assert picked.problem is not None and picked.problem.code == "llm-late"
            assert (picked.work, picked.by) == ("a", "ranker")
        else:
            cancel = Cancel()
            threading.Thread(
                target=lambda: requested.wait(60) and cancel.set(), daemon=True
            ).start()
            with pytest.raises(Cancelled):
                engine.pick(Query(sentence="x [CITATION]"), WORKS, cancel=cancel)
        assert server.left.acquire(timeout=60), "the connection stays open"
        used = wait_for(
            lambda: engine.status().budget.used.minus(before), lambda used: used.requests == 1
        )
        assert used.output_tokens == llm.answer_tokens
        assert used.input_tokens > 100
    finally:
        engine.close()
        server.close()


def wait_for(look: Any, found: Any) -> Any:
    """What is looked at, once it is as it should be."""
    end = time.monotonic() + 60
    while not found(seen := look()):
        assert time.monotonic() < end, seen
        time.sleep(0.02)
    return seen


def test_what_may_be_spent_a_day_stops_the_next_request(options: Options) -> None:
    """Of a model on this machine dollars count, if it has a price."""
    few = replace(options, llm=replace(options.llm, input_price=1000.0, daily_cost=0.75))
    engine = LocalEngine.open(few)
    try:
        picks = [engine.pick(Query(sentence="x [CITATION]"), WORKS) for _ in range(8)]
    finally:
        engine.close()
    stopped = [one for one in picks if one.problem is not None]
    assert picks[0].by == "model" and picks[-1].by == "ranker"
    assert {one.problem.code for one in stopped if one.problem} == {"llm-budget"}


@pytest.mark.parametrize("kind", [LocalEngine.open, WorkerEngine], ids=["local", "worker"])
def test_without_a_model_the_first_paper_stands(tmp_path: Path, kind: Any) -> None:
    base = Options()
    engine = kind(replace(base, library=replace(base.library, path=tmp_path)))
    try:
        picked = engine.pick(Query(sentence="x"), WORKS)
        assert (picked.work, picked.by) == ("a", "ranker")
        assert picked.problem is not None and picked.problem.code == "llm-off"
        assert engine.verify("x", WORKS[1]).verdict == "unclear"
    finally:
        engine.close()


def test_settings_that_name_nobody_clearly_are_a_problem_of_the_engine(tmp_path: Path) -> None:
    base = Options()
    engine = LocalEngine.open(
        replace(
            base,
            library=replace(base.library, path=tmp_path),
            llm=LlmOptions(provider="vllm", model="m", base_url="http://10.1.2.3/v1"),
        )
    )
    assert "llm-host" in {problem.code for problem in engine.status().problems}
    assert engine.pick(Query(), WORKS).problem is not None
    engine.close()
