import threading
import time

from citewell.lsp.protocol.jsonrpc import CALM, LONGEST, PATIENCE, RequestPriority
from citewell.model.cancel import cooperative


def walk(request_priority, items, seen):
    """Walk over the items on the thread that gives way; what it saw and when."""

    def job():
        for item in cooperative(items):
            seen.append((item, time.monotonic()))

    return request_priority.background("test").submit(job)


def test_a_walk_on_any_other_thread_is_the_plain_walk():
    request_priority = RequestPriority()
    request_priority.arrived()
    request_priority.begin(1, "textDocument/completion")
    before = time.monotonic()
    assert list(cooperative(range(1000))) == list(range(1000))
    assert time.monotonic() - before < LONGEST


def test_a_walk_stops_while_an_answer_is_due_and_goes_on_after_it():
    request_priority = RequestPriority()
    seen = []
    request_priority.arrived()
    request_priority.begin(1, "textDocument/completion")
    done = walk(request_priority, range(50), seen)
    while not done.running():
        time.sleep(0.001)
    assert len(seen) <= 1
    answered = time.monotonic()
    request_priority.end(1)
    done.result(5)
    assert [item for item, _ in seen] == list(range(50))
    assert seen[1][1] >= answered + CALM / 2


def test_an_answer_that_itself_waits_holds_nobody_up_for_long():
    request_priority = RequestPriority()
    request_priority.arrived()
    request_priority.begin(1, "textDocument/hover")
    seen = []
    walk(request_priority, range(50), seen).result(5)
    assert len(seen) == 50


def test_a_request_that_the_same_thread_answers_does_not_stop_it():
    request_priority = RequestPriority()
    request_priority.arrived()
    request_priority.begin(1, "textDocument/diagnostic")
    before = time.monotonic()
    walk(request_priority, range(50), []).result(5)
    assert time.monotonic() - before < LONGEST


def test_requests_without_end_slow_a_walk_and_do_not_stop_it():
    request_priority = RequestPriority()
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            request_priority.arrived()
            time.sleep(CALM / 4)

    asking = threading.Thread(target=ask)
    asking.start()
    seen = []
    try:
        walk(request_priority, range(1000), seen).result(PATIENCE * 20)
    finally:
        stop.set()
        asking.join()
    assert len(seen) == 1000
