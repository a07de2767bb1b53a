"""Which of several search processes is asked, without the processes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from citewell.engine.pool import WorkerPool, open_workers
from citewell.engine.protocol import Method, RemoteEngine
from citewell.engine.worker_client import WorkerEngine
from citewell.model import CitewellError, Problem, Work
from citewell.model.cancel import Cancel
from citewell.model.feedback import Feedback, PaperName
from citewell.options import Options
from citewell.options.tree import ServeOptions


class Process(WorkerEngine):
    """Knows some records, and notes the calls that it answers."""

    def __init__(self, *known: str) -> None:
        super().__init__(Options())
        self.known = known
        self.learned: list[str] = []
        self.down = False

    def call(self, method: Method[Any, Any], arguments: Any, cancel: Cancel | None) -> Any:
        if self.down:
            raise CitewellError(Problem("engine-down", "It stopped."))
        if method.name == "works":
            return [Work(id=one, title=one) if one in self.known else None for one in arguments.ids]
        assert method.name == "learn"
        self.learned.append(arguments.feedback.accepted.id)
        return ()

    async def call_async(
        self, method: Method[Any, Any], arguments: msgspec.Struct, cancel: Cancel | None
    ) -> Any:
        return self.call(method, arguments, cancel)


def learn(engine: RemoteEngine, identifier: str) -> object:
    return engine.learn(Feedback(accepted=PaperName(identifier, "A Title")))


def test_the_process_that_offered_a_record_of_a_source_learns_that_it_was_accepted() -> None:
    processes = [Process(), Process("crossref:1"), Process()]
    engine = WorkerPool(processes)
    for _ in range(3):
        assert learn(engine, "crossref:1") == ()
    assert [one.learned for one in processes] == [[], ["crossref:1"] * 3, []]


def test_a_paper_that_no_process_knows_is_learned_once() -> None:
    processes = [Process(), Process()]
    assert learn(WorkerPool(processes), "gone:1") == ()
    assert sorted(one.learned for one in processes) == [[], ["gone:1"]]


def test_a_process_that_is_down_keeps_no_other_from_learning() -> None:
    processes = [Process("crossref:1"), Process("crossref:1")]
    processes[0].down = True
    assert learn(WorkerPool(processes), "crossref:1") == ()
    assert processes[1].learned == ["crossref:1"]


@pytest.mark.parametrize(("workers", "kind"), [(1, WorkerEngine), (2, WorkerPool)])
def test_the_settings_name_the_number_of_search_processes(workers: int, kind: type) -> None:
    engine = open_workers(Options(serve=ServeOptions(workers=workers)))
    assert isinstance(engine, kind)
    engine.close()
