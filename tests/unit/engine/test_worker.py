"""The worker process, with an engine in the child that does what the query's text says."""

import asyncio
import io
import os
import signal
import sys
import textwrap
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from citewell.engine import protocol, worker_client
from citewell.engine.contract import Engine, EngineStatus
from citewell.engine.processes import worker_command, worker_environment
from citewell.engine.protocol import METHODS
from citewell.engine.worker import Worker
from citewell.engine.worker_client import WorkerEngine
from citewell.model import CitewellError, Query, SearchResult, Work
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.feedback import Feedback, PaperName
from citewell.options import Options
from citewell.options.tree import LibraryOptions, ServeOptions
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at

OBEDIENT = textwrap.dedent(
    """
    import os, sys, time
    from pathlib import Path
    from citewell.engine import worker
    from citewell.engine.contract import EngineStatus
    from citewell.model import CitewellError, Hit, Problem, SearchResult, Work
    from citewell.sources import contract as cache_counts

    class Engine:
        def __init__(self):
            self.stopped = 0
        def find(self, query, k=20, *, tier="fast", cancel=None):
            word, _, rest = query.text.partition(" ")
            if word == "sleep":
                open("asleep", "w").close()
                end = time.monotonic() + float(rest)
                while time.monotonic() < end:
                    if cancel.is_set:
                        self.stopped += 1
                    cancel.check()
                    time.sleep(0.005)
            if word == "die":
                os._exit(9)
            if word == "print":
                print(rest, flush=True)
                os.system("echo from a child process")
            if word == "fail":
                raise ValueError(rest)
            if word == "problem":
                raise CitewellError(Problem("some-code", rest))
            if word == "ask":
                for _ in range(int(rest)):
                    cache_counts.count("crossref", "hit")
                cache_counts.count("dblp", "miss")
            if word == "huge":
                return SearchResult(hits=(Hit(Work(id="x", title="y" * 70_000_000), 1.0),))
            title = f"{query.text} {self.stopped}"
            return SearchResult(hits=(Hit(Work(id=str(os.getpid()), title=title), 1.0),))
        def find_batch(self, queries, k=20, *, tier="fast", cancel=None, explained=None):
            return [self.find(query, k, cancel=cancel) for query in queries]
        def works(self, ids):
            return [None if i == "none" else Work(id=i, title=i.upper()) for i in ids]
        def lookup(self, *, doi="", arxiv="", title="", bibkey=""):
            if doi == "die":
                os._exit(9)
            return [Work(id="found", title=doi + arxiv + title + bibkey)]
        def learn(self, feedback):
            return (Problem("learned", feedback.accepted.title),)
        def status(self):
            return EngineStatus(works=7, pid=os.getpid())

    def open_engine(options):
        if os.path.exists("refuse"):
            raise OSError("the disk is on holiday")
        while os.path.exists("unpacking"):
            time.sleep(0.01)
        return Engine()

    def stamp(options):
        return Path("stamp").read_bytes() if os.path.exists("stamp") else b""

    worker._open_local = open_engine
    worker._library_version = stamp
    worker.RETRY_OPEN_SECONDS = 0.3
    worker.VERSION_SECONDS = 0.1
    worker.main()
    """
)


@pytest.fixture
def engine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    engine = WorkerEngine(Options(), command=(sys.executable, "-c", OBEDIENT))
    yield engine
    engine.close()


def title_of(result):
    assert result.problems == ()
    return result.hits[0].work.title


def until_asleep():
    """Until a search has begun in the child."""
    limit = time.monotonic() + 60
    while not Path("asleep").exists() and time.monotonic() < limit:
        time.sleep(0.01)


def when_asleep(do):
    """Do it once a search has begun in the child."""

    def wait():
        until_asleep()
        do()

    threading.Thread(target=wait, daemon=True).start()


def wait_for_another_look():
    """Until the child has looked at the library again: every tenth of a second."""
    time.sleep(0.15)


def wait_for_another_try():
    """Until the child tries again to open what it could not: after 0.3 s."""
    time.sleep(0.4)


def wait_for_stopped(engine):
    """Until the child has stopped the one search that was cancelled."""
    limit = time.monotonic() + 60
    while title_of(engine.find(Query(text="old"))) != "old 1":
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_each_call_of_the_contract_reaches_the_engine_in_the_child(engine):
    assert title_of(engine.find(Query(text="hello"))) == "hello 0"
    batch = engine.find_batch([Query(text=f"q{i}") for i in range(100)])
    assert [title_of(result) for result in batch] == [f"q{i} 0" for i in range(100)]
    assert [work and work.title for work in engine.works(["a", "none"])] == ["A", None]
    assert engine.lookup(doi="10.1/x")[0].title == "10.1/x"
    (problem,) = engine.learn(Feedback(accepted=PaperName("x", "On Walking")))
    assert (problem.code, problem.message) == ("learned", "On Walking")
    status = engine.status()
    assert (status.works, status.pid) == (7, engine.pid)
    assert engine.pid != os.getpid()


def test_prints_in_the_child_cannot_touch_the_protocol(engine):
    for _ in range(3):
        assert title_of(engine.find(Query(text="print garbage"))) == "print garbage 0"


@pytest.mark.provokes_fault("ValueError: the reason")
def test_a_request_that_fails_says_why_and_the_next_one_is_answered_by_the_same_child(engine):
    pid = engine.status().pid
    failed = engine.find(Query(text="fail the reason"))
    assert failed.hits == ()
    assert failed.problems[0].code == "engine-error"
    assert "ValueError: the reason" in failed.problems[0].message
    assert engine.find(Query(text="problem x")).problems[0].code == "some-code"
    huge = engine.find(Query(text="huge"))
    assert "larger than" in huge.problems[0].message
    assert engine.find(Query(text="a")).hits[0].work.id == str(pid)


def test_the_death_of_the_child_costs_the_requests_in_flight_and_no_other(engine):
    first = engine.status().pid
    results = {}
    slow = threading.Thread(target=lambda: results.update(slow=engine.find(Query(text="sleep 30"))))
    slow.start()
    until_asleep()
    start = time.monotonic()
    assert first > 1, "0 would kill the whole process group"
    os.kill(first, getattr(signal, "SIGKILL", signal.SIGTERM))
    slow.join(20)
    assert time.monotonic() - start < 20
    assert [p.code for p in results["slow"].problems] == ["engine-restarted"]
    second = engine.find(Query(text="again"))
    assert title_of(second) == "again 0"
    assert second.hits[0].work.id not in ("", str(first))


def test_a_lookup_cut_off_by_a_death_is_asked_once_more(engine):
    pid = engine.status().pid
    assert pid > 1, "0 would kill the whole process group"
    os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    assert engine.works(["a"])[0].title == "A"
    with pytest.raises(CitewellError, match="stopped during this request"):
        engine.lookup(doi="die")


@pytest.mark.provokes_fault("The file was changed.")
def test_after_a_crash_the_checksums_of_the_library_are_looked_at(tmp_path):
    """A child that dies of a damaged index would die of it again and again."""
    records = Path(__file__).parents[2] / "fixtures" / "papers.jsonl"
    build_library(
        tmp_path / "default",
        add=[source_at(str(records))],
        builders=default_builders(Options()),
    )
    options = Options(library=LibraryOptions(path=tmp_path))
    real = WorkerEngine(options)
    try:
        assert real.find(Query(text="graph attention networks")).hits
        column = next(tmp_path.glob("default/segments/*/citations.npy"))
        data = bytearray(column.read_bytes())
        data[-1] ^= 1
        column.write_bytes(data)
        assert real.find(Query(text="graph attention networks")).hits, "nobody looked"
        os.kill(real.status().pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        codes: list[str] = []
        for _ in range(20):  # the request that meets the death may be lost with it
            codes = [problem.code for problem in real.find(Query(text="graph")).problems]
            if codes != ["engine-restarted"]:
                break
        assert codes == ["library-corrupt"]
    finally:
        real.close()


def test_a_child_that_never_answers_is_started_more_and_more_rarely():
    engine = WorkerEngine(Options(), command=(sys.executable, "-c", "raise SystemExit('no disk')"))
    codes = [engine.find(Query(text="x")).problems[0] for _ in range(5)]
    assert codes[0].code == "engine-restarted"
    assert codes[-1].code == "engine-down"
    assert "no disk" in codes[-1].message
    assert "citewell doctor" in codes[-1].hint
    assert engine.find(Query(text="x")).problems[0].code == "engine-down"
    engine.close()


def test_a_program_that_does_not_exist_is_a_problem_and_no_exception():
    engine = WorkerEngine(Options(), command=("/no/such/program",))
    assert engine.find(Query(text="x")).problems[0].code == "engine-down"
    assert engine.status().problems[0].code == "engine-down"
    engine.close()


def test_a_cancelled_search_stops_in_the_child(engine):
    assert title_of(engine.find(Query(text="warm"))) == "warm 0"
    cancel = Cancel()
    when_asleep(cancel.set)
    start = time.monotonic()
    with pytest.raises(Cancelled):
        engine.find(Query(text="sleep 300"), cancel=cancel)
    assert time.monotonic() - start < 100
    wait_for_stopped(engine)


async def test_the_loop_keeps_turning_while_the_child_starts_and_works(engine):
    gaps = []

    async def tick():
        while True:
            start = time.monotonic()
            await asyncio.sleep(0.001)
            gaps.append(time.monotonic() - start)

    ticking = asyncio.create_task(tick())
    await asyncio.gather(*(engine.find_async(Query(text="sleep 0.3")) for _ in range(4)))
    ticking.cancel()
    # One search that blocked the loop would be a gap as long as itself.
    assert sorted(gaps)[int(len(gaps) * 0.95)] < 0.2


async def test_a_deadline_gives_up_and_says_so(engine):
    await engine.find_async(Query(text="warm"))
    start = time.monotonic()
    result = await engine.find_async(Query(text="sleep 300"), cancel=Cancel(2.0))
    assert time.monotonic() - start < 100
    assert result.problems[0].code == "engine-late"
    await asyncio.to_thread(wait_for_stopped, engine)


async def test_a_first_start_that_takes_long_is_not_taken_for_stuck(engine, monkeypatch):
    """Not even while letters are typed, each of which cancels the search for the one before."""
    monkeypatch.setitem(worker_client.SECONDS, "fast", 0.3)
    monkeypatch.setattr(worker_client, "STUCK_SECONDS", 0.1)
    Path("unpacking").touch()
    waiting = asyncio.create_task(engine.find_async(Query(text="first")))
    for letter in "abc":
        typed = asyncio.create_task(engine.find_async(Query(text=letter)))
        await asyncio.sleep(0.2)
        typed.cancel()
    Path("unpacking").unlink()
    assert title_of(await waiting) == "first 0"
    assert title_of(await engine.find_async(Query(text="second"))) == "second 0"
    late = await engine.find_async(Query(text="sleep 300"))
    assert late.problems[0].code == "engine-late"


def test_slow_explicit_searches_do_not_delay_a_completion(engine):
    engine.status()
    slow = [
        threading.Thread(
            target=engine.find, args=(Query(text="sleep 20"),), kwargs={"tier": "full"}
        )
        for _ in range(4)
    ]
    for thread in slow:
        thread.start()
    until_asleep()
    start = time.monotonic()
    engine.find(Query(text="quick"))
    assert time.monotonic() - start < 10
    engine.close()
    for thread in slow:
        thread.join()


def test_a_library_that_changes_is_opened_anew_by_the_same_child(engine, tmp_path):
    pid = engine.status().pid
    with pytest.raises(Cancelled):
        cancel = Cancel()
        when_asleep(cancel.set)
        engine.find(Query(text="sleep 30"), cancel=cancel)
    wait_for_stopped(engine)
    (tmp_path / "stamp").write_bytes(b"next snapshot")
    wait_for_another_look()
    assert title_of(engine.find(Query(text="new"))) == "new 0"
    (tmp_path / "stamp").write_bytes(b"yet another")
    wait_for_another_look()
    engine.find(Query(text="trigger"))
    assert engine.status().pid == pid


def test_a_first_library_is_searched_by_the_very_next_request(engine, tmp_path):
    with pytest.raises(Cancelled):
        cancel = Cancel()
        when_asleep(cancel.set)
        engine.find(Query(text="sleep 30"), cancel=cancel)
    wait_for_stopped(engine)
    (tmp_path / "stamp").write_bytes(b"first snapshot")
    # A new engine, which has stopped nothing.
    assert title_of(engine.find(Query(text="there"))) == "there 0"


@pytest.mark.provokes_fault("the disk is on holiday")
def test_an_engine_that_cannot_open_says_why_and_is_tried_again_later(engine, tmp_path):
    (tmp_path / "refuse").touch()
    assert "on holiday" in engine.find(Query(text="x")).problems[0].message
    pid = engine.pid
    (tmp_path / "refuse").unlink()
    wait_for_another_try()
    assert title_of(engine.find(Query(text="x"))) == "x 0"
    assert engine.pid == pid


def test_closing_ends_the_child_and_later_requests_say_so(engine):
    pid = engine.status().pid
    engine.close()
    assert engine.find(Query(text="x")).problems[0].code == "engine-closed"
    with pytest.raises(OSError):
        os.kill(pid, 0)


def test_a_start_that_the_end_overtakes_is_no_fault(engine, caplog):
    """An editor may be closed before the worker is started for the paper that it opened."""
    engine.close()
    engine.start()
    for thread in threading.enumerate():
        if thread.name == "citewell-spawn":
            thread.join()
    assert not caplog.records


def test_new_options_start_another_child(engine):
    first = engine.status().pid
    engine.configure(Options())
    assert engine.status().pid == first
    engine.configure(replace(Options(), library=replace(Options().library, name="b")))
    assert engine.status().pid != first


@pytest.fixture
def idle_engine(tmp_path, monkeypatch):
    """One whose child ends after a tenth of a second without a request."""
    monkeypatch.chdir(tmp_path)
    options = replace(Options(), retrieval=replace(Options().retrieval, idle_minutes=0.1 / 60))
    engine = WorkerEngine(options, command=(sys.executable, "-c", OBEDIENT))
    yield engine
    engine.close()


def wait_until_idle(engine):
    """Until the child has ended."""
    limit = time.monotonic() + 60
    while engine.pid:
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_an_idle_child_ends_and_the_next_request_starts_another(idle_engine):
    first = idle_engine.status().pid
    wait_until_idle(idle_engine)
    second = idle_engine.find(Query(text="again"))
    assert title_of(second) == "again 0"
    assert second.hits[0].work.id not in ("", str(first))


def test_a_child_that_may_ask_sources_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = replace(
        Options(),
        retrieval=replace(Options().retrieval, idle_minutes=0.001 / 60),
        sources=replace(Options().sources, allow=("crossref",)),
    )
    engine = WorkerEngine(options, command=(sys.executable, "-c", OBEDIENT))
    pid = engine.status().pid
    assert not [t for t in threading.enumerate() if t.name == "citewell-idle"]
    assert engine.status().pid == pid
    engine.close()


def end_if_idle(engine):
    """Let the child refuse every later request, as one that was idle for too long does."""
    child = engine._running()
    return child if child is not None and child.refuse_if_idle(0.0) else None


async def test_a_request_to_a_child_that_just_ended_is_sent_to_the_next_one(engine, monkeypatch):
    for name in ("_running", "_ensure"):
        first = engine.status().pid
        ended = end_if_idle(engine)
        looks, look = iter([ended]), getattr(engine, name)
        with monkeypatch.context() as patched:
            # The caller looks the child up, and finds it gone when it sends.
            patched.setattr(
                engine, name, lambda looks=looks, look=look: next(looks, None) or look()
            )
            if name == "_running":
                found = await engine.find_async(Query(text="x"))
            else:
                found = engine.find(Query(text="x"))
        assert title_of(found) == "x 0"
        assert engine.pid not in (0, first)
        assert next(looks, None) is None


def test_the_worker_is_started_off_the_working_directory_and_with_tamed_threads(monkeypatch):
    assert "-P" in worker_command()
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    for name in ("OMP_WAIT_POLICY", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX"):
        monkeypatch.delenv(name, raising=False)
    environment = worker_environment()
    assert environment["OMP_WAIT_POLICY"] == "PASSIVE"
    assert environment["OMP_NUM_THREADS"] == "7"
    assert environment["OPENBLAS_NUM_THREADS"] == "1"
    assert environment["MALLOC_ARENA_MAX"] == "1"


@pytest.mark.parametrize("metrics", [True, False])
def test_a_server_with_metrics_hears_of_requests_to_sources_before_the_answer(
    tmp_path, monkeypatch, metrics
):
    monkeypatch.chdir(tmp_path)
    options = replace(Options(), serve=ServeOptions(metrics=metrics))
    engine = WorkerEngine(options, command=(sys.executable, "-c", OBEDIENT))
    counted = Counter()
    engine.watch_source_cache(lambda source, outcome: counted.update([(source, outcome)]))
    try:
        for round_number in (1, 2):
            assert title_of(engine.find(Query(text="ask 40"))).startswith("ask 40")
            expected = {("crossref", "hit"): 40 * round_number, ("dblp", "miss"): round_number}
            assert counted == (expected if metrics else {})
        # What a process that died has counted stays counted, and the next one goes on.
        engine.find(Query(text="die"))
        engine.find(Query(text="ask 1"))
        assert counted == ({("crossref", "hit"): 81, ("dblp", "miss"): 3} if metrics else {})
    finally:
        engine.close()


@pytest.mark.parametrize("garbage", [b"\x00", b"{}", b"\x81\xa4type\xa4evil", b"\xc1" * 40])
def test_a_frame_that_is_no_message_is_refused(garbage):
    with pytest.raises(protocol.BrokenFrameError):
        protocol.decode(protocol.Request, garbage)
    with pytest.raises(protocol.BrokenFrameError):
        protocol.decode(protocol.FromWorker, garbage)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("close", {}),
        ("__init__", {}),
        ("works", {"ids": "not a list"}),
        ("works", {}),
        ("find", {"query": {}, "tier": "slowest"}),
    ],
)
def test_a_call_that_the_table_of_methods_does_not_hold_ends_the_connection(method, arguments):
    call = protocol.Call(1, method, protocol.packed(arguments))
    source, sink = io.BytesIO(protocol.encode(call)), io.BytesIO()
    with pytest.raises(protocol.BrokenFrameError):
        Worker(source, sink, lambda options: None, lambda options: b"").run()
    assert sink.getvalue() == b""


class Recorder:
    """An engine that opens once everything has been sent to it."""

    def __init__(self):
        self.sent = threading.Event()
        self.queries = []

    def read(self, stream):
        part = self.frames.read(stream)
        if not part:
            self.sent.set()
        return part

    def open(self, options):
        assert self.sent.wait(30)
        return self

    def find(self, query, k=20, *, tier="fast", cancel=None):
        self.queries.append(query.text or query.sentence)
        return SearchResult()

    def status(self):
        return EngineStatus()

    def run(self, *calls):
        hello = protocol.Hello(protocol.VERSION, Options(), False)
        self.frames = io.BytesIO(b"".join(protocol.encode(one) for one in (hello, *calls)))
        worker = Worker(self, io.BytesIO(), self.open, lambda options: b"")
        worker.run()
        for lane in worker._lanes.values():
            lane.shutdown()
        return self.queries


def test_a_search_that_waits_is_the_first_search_of_the_process():
    find = METHODS["find"]
    call = protocol.Call(1, "find", protocol.packed(find.arguments(Query(text="attention"))))
    assert Recorder().run(call) == ["attention"]


def test_without_one_the_process_searches_by_itself():
    status = METHODS["status"]
    call = protocol.Call(1, "status", protocol.packed(status.arguments()))
    assert Recorder().run(call) == ["warm up the index"]


def test_each_method_of_the_contract_has_its_row_and_types_that_travel():
    contract = {name for name in vars(Engine) if not name.startswith("_")} - {"close"}
    assert set(METHODS) == contract
    for method in METHODS.values():
        with pytest.raises(protocol.BrokenFrameError):
            protocol.decode(method.result, protocol.packed(0.5))
    works = METHODS["works"]
    sent = protocol.packed(works.arguments(["a", "b"]))
    assert protocol.decode(works.arguments, sent) == works.arguments(["a", "b"])
    assert protocol.decode(works.result, protocol.packed([Work(id="a", title="A"), None])) == [
        Work(id="a", title="A"),
        None,
    ]


def test_a_result_of_another_type_ends_the_child(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lying = OBEDIENT.replace("EngineStatus(works=7, pid=os.getpid())", "'none of its types'")
    engine = WorkerEngine(Options(), command=(sys.executable, "-c", lying))
    try:
        assert [problem.code for problem in engine.status().problems] == ["engine-restarted"]
        assert engine.works(["a"])[0].title == "A"
    finally:
        engine.close()


def test_a_frame_that_claims_to_be_huge_is_refused_before_it_is_read(tmp_path):
    file = tmp_path / "frame"
    file.write_bytes(b"\xff\xff\xff\xff" + b"x" * 10)
    with file.open("rb") as stream, pytest.raises(protocol.BrokenFrameError):
        protocol.read_frame(stream)
    file.write_bytes(b"\x00\x00\x00\x09" + b"x" * 5)
    with file.open("rb") as stream:
        assert protocol.read_frame(stream) is None
