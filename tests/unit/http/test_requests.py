"""What is refused, how it is said, and what becomes of requests that nobody waits for."""

from __future__ import annotations

import json
import re
import threading
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import anyio
import msgspec
import pytest

from citewell.engine.local import LocalEngine
from citewell.http.app import create_app
from citewell.http.endpoints import ENDPOINTS, Endpoint
from citewell.http.openapi import openapi_document
from citewell.http.reading import MAX_BODY
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel, Cancelled
from citewell.operations.operation import Nothing, Operation, Service
from citewell.options import Options
from citewell.serving.queues import MAX_WAITING, THREADS, Queues


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "request-malformed"),
        (b"", 400, "request-malformed"),
        (b'{"query": "\xff"}', 400, "request-malformed"),
        (b"[" * 100_000, 422, "request-invalid"),
        (b"[]", 422, "request-invalid"),
        (b'{"query": 5}', 422, "request-invalid"),
        (b'{"query": "a", "k": 0}', 422, "request-invalid"),
        (b'{"query": "a", "k": 51}', 422, "request-invalid"),
        (b'{"query": "a", "limits": 5}', 422, "request-invalid"),
        (b'{"query": "' + b"a" * 2_001 + b'"}', 422, "request-invalid"),
        (b'{"query": "' + b"a" * MAX_BODY + b'"}', 413, "request-too-large"),
    ],
)
def test_a_request_that_cannot_be_answered_says_why(
    client: Any, problem: Any, body: bytes, status: int, code: str
) -> None:
    found = client.post(
        "/v1/search", content=body, headers={"Content-Type": "application/json; charset=utf-8"}
    )
    assert problem(found) == (status, code)
    assert len(found.content) < 3_000


def test_a_body_without_a_length_is_bounded_too(client: Any, problem: Any) -> None:
    def parts() -> Any:
        for _ in range(MAX_BODY // 65_536 + 2):
            yield b" " * 65_536

    found = client.post("/v1/search", content=parts(), headers={"Content-Type": "application/json"})
    assert problem(found) == (413, "request-too-large")


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": ""},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_only_json_that_says_so_is_read(client: Any, problem: Any, headers: Any) -> None:
    found = client.post("/v1/search", content=b'{"query": "a"}', headers=headers)
    assert problem(found) == (415, "request-not-json")


@pytest.mark.parametrize(
    "name", ["../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "/etc/passwd", "file:///etc"]
)
def test_the_name_of_a_paper_is_never_a_file(client: Any, problem: Any, name: str) -> None:
    status, code = problem(client.get(f"/v1/papers/{name}"))
    assert (status, code) in ((404, "record-unknown"), (404, "endpoint-unknown"))


def test_a_method_that_an_address_does_not_take_is_refused(client: Any, problem: Any) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        found = client.request(method, "/v1/find")
        assert problem(found) == (405, "method-refused")
        assert found.headers["allow"] == "POST"
    search = client.delete("/v1/search")
    assert problem(search) == (405, "method-refused")
    assert {"GET", "POST"} <= {name.strip() for name in search.headers["allow"].split(",")}
    assert client.head("/v1/health").status_code == 200


def test_each_problem_leads_to_its_explanation(client: Any, problem: Any) -> None:
    found = client.get("/v1/papers/nothing")
    problem(found)
    page = client.get(found.json()["type"])
    assert page.status_code == 200 and "# `record-unknown`" in page.text
    assert problem(client.get("/problems/no-such-code")) == (404, "endpoint-unknown")


def test_every_problem_in_the_docs_has_a_page(client: Any) -> None:
    text = (Path(__file__).resolve().parents[3] / "docs/problems.md").read_text("utf-8")
    cells = re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)
    codes = [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]
    assert {"server-busy", "style-unknown", "style-unreadable"} <= set(codes)
    for code in codes:
        assert f"`{code}`" in client.get(f"/problems/{code}").text, code


class Done(msgspec.Struct):
    ok: bool = True


def endpoint(answer: Any, seconds: float = 60.0) -> Endpoint:
    operation = Operation(
        function=answer, request=Nothing, response=Done, summary="", seconds=seconds
    )
    return Endpoint("slow", "POST", "/slow", operation)


def app_of(options: Options, engine: LocalEngine, one: Endpoint) -> Any:
    return create_app(options, engine, [one])


SCOPE = {
    "type": "http", "method": "POST", "path": "/slow", "raw_path": b"/slow", "query_string": b"",
    "root_path": "", "scheme": "http", "server": ("127.0.0.1", 7413),
    "headers": [(b"content-type", b"application/json")],
}  # fmt: skip


async def test_a_client_that_goes_away_ends_the_work(
    paper_options: Options, paper_engine: LocalEngine
) -> None:
    begun, ended = anyio.Event(), threading.Event()

    def forever(service: Service, body: Any, cancel: Cancel) -> Done:
        anyio.from_thread.run_sync(begun.set)
        try:
            while True:
                threading.Event().wait(0.01)
                cancel.check()
        except Cancelled:
            ended.set()
            raise

    messages = [{"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive() -> Any:
        if messages:
            return messages.pop(0)
        await begun.wait()
        return {"type": "http.disconnect"}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    with anyio.fail_after(60):
        await app_of(paper_options, paper_engine, endpoint(forever))(dict(SCOPE), receive, send)
    assert ended.wait(60)
    assert sent[0]["status"] == 499


def client_to(options: Options, engine: LocalEngine, one: Endpoint, **how: Any) -> Any:
    from starlette.testclient import TestClient

    return TestClient(app_of(options, engine, one), **how)


def test_work_that_takes_too_long_is_ended_and_said_so(
    paper_options: Options, paper_engine: LocalEngine, problem: Any
) -> None:
    ended = threading.Event()

    def forever(service: Service, body: Any, cancel: Cancel) -> Done:
        while not cancel.is_set:
            threading.Event().wait(0.01)
        ended.set()
        raise Cancelled

    late = client_to(paper_options, paper_engine, endpoint(forever, seconds=0.2))
    assert problem(late.post("/slow", json={})) == (504, "request-late")
    assert ended.wait(60)


def test_an_error_of_our_own_is_said_without_its_inside(
    paper_options: Options, paper_engine: LocalEngine, problem: Any
) -> None:
    def broken(service: Service, body: Any, cancel: Cancel) -> Done:
        raise ValueError("the secret inside")

    server = client_to(paper_options, paper_engine, endpoint(broken), raise_server_exceptions=False)
    found = server.post("/slow", json={})
    assert problem(found) == (500, "internal-error")
    assert "secret" not in found.text


def test_a_key_of_the_environment_is_never_told(
    paper_options: Options, paper_engine: LocalEngine, problem: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-1234567890")

    def failing(service: Service, body: Any, cancel: Cancel) -> Done:
        raise CitewellError(Problem("llm-refused", "sk-1234567890 was refused.", "Look at it."))

    found = client_to(paper_options, paper_engine, endpoint(failing)).post("/slow", json={})
    assert problem(found) == (503, "llm-refused")
    assert "sk-1234567890" not in found.text and "[hidden]" in found.text


def test_more_requests_than_can_wait_are_told_to_come_again(
    paper_options: Options, paper_engine: LocalEngine, problem: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("citewell.http.app.Queues", partial(Queues, waiting=0))
    full = client_to(paper_options, paper_engine, endpoint(lambda *_: Done()))
    found = full.post("/slow", json={})
    assert problem(found) == (503, "server-busy")
    assert found.headers["retry-after"] == "1"


async def test_a_body_that_does_not_arrive_is_given_up(
    paper_options: Options, paper_engine: LocalEngine, monkeypatch: Any
) -> None:
    monkeypatch.setattr("citewell.http.app.ARRIVAL_SECONDS", 0.1)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    app = app_of(paper_options, paper_engine, endpoint(lambda *_: Done()))
    with anyio.fail_after(60):
        await app(dict(SCOPE), anyio.sleep_forever, send)
    assert sent[0]["status"] == 408 and b"request-slow" in sent[1]["body"]


def test_the_server_says_that_it_lives_when_all_of_its_threads_are_taken(
    paper_options: Options, paper_engine: LocalEngine, monkeypatch: Any
) -> None:
    monkeypatch.setattr("citewell.http.app.Queues", partial(Queues, threads=1))
    begun, go_on = threading.Event(), threading.Event()

    def waits(service: Service, body: Any, cancel: Cancel) -> Done:
        begun.set()
        assert go_on.wait(60)
        return Done()

    from starlette.testclient import TestClient

    (health,) = [one for one in ENDPOINTS if one.name == "health"]
    app = create_app(paper_options, paper_engine, [endpoint(waits), health])
    with TestClient(app) as busy:
        found: list[Any] = []
        asking = threading.Thread(target=lambda: found.append(busy.post("/slow", json={})))
        asking.start()
        assert begun.wait(60)
        assert busy.get("/v1/health").json()["status"] == "ok"
        go_on.set()
        asking.join(60)
    assert found[0].json() == {"ok": True}


def test_a_check_is_answered_while_all_searches_wait(
    paper_options: Options, paper_engine: LocalEngine, problem: Any
) -> None:
    """However many searches come, they take no place from another kind."""
    from starlette.testclient import TestClient

    go_on = threading.Event()
    begun = threading.Semaphore(0)

    class Busy:
        """The engine, whose searches end when they may."""

        def __getattr__(self, name: str) -> Any:
            return getattr(paper_engine, name)

        def find(self, *args: Any, **more: Any) -> Any:
            begun.release()
            assert go_on.wait(120)
            return paper_engine.find(*args, **more)

    app = create_app(paper_options, Busy(), ENDPOINTS)  # type: ignore[arg-type]
    found: list[Any] = []
    entry = "@misc{a, title={Attention Is All You Need}, year={2017}}"
    with TestClient(app) as client:

        def search() -> None:
            found.append(client.post("/v1/search", json={"query": "attention", "k": 1}))

        threads = [threading.Thread(target=search) for _ in range(MAX_WAITING + 8)]
        for thread in threads:
            thread.start()
        for _ in range(THREADS):
            assert begun.acquire(timeout=60)
        refused = iter(lambda: len(found) >= 8, True)
        for _ in refused:
            assert threads[0].is_alive()
        assert {one.status_code for one in found} == {503}, "more than may wait come again"
        for _ in range(20):
            checked = client.post("/v1/check", json={"entries": [entry]})
            assert checked.json()["status"] == "checked"
            assert client.post("/v1/papers", json={"ids": ["fx:1"]}).status_code == 200
        assert len(found) == 8, "no search has ended meanwhile"
        go_on.set()
        for thread in threads:
            thread.join(120)
    assert sorted({one.status_code for one in found}) == [200, 503]
    assert sum(one.status_code == 200 for one in found) == MAX_WAITING


def events_of(text: str) -> list[tuple[str, Any]]:
    """The events of a stream, by the rules of the HTML standard."""
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        fields = dict(line.split(": ", 1) for line in lines)
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def test_a_long_answer_tells_how_far_it_is_to_who_asks(client: Any) -> None:
    entries = [f"@misc{{a{n}, title={{Attention Is All You Need}}}}" for n in range(200)]
    body = {"entries": entries}
    plain = client.post("/v1/check", json=body)
    assert plain.headers["content-type"] == "application/json"
    found = client.post("/v1/check", json=body, headers={"Accept": "text/event-stream"})
    assert found.status_code == 200
    assert found.headers["content-type"].startswith("text/event-stream")
    assert found.headers["cache-control"] == "no-store"
    *progress, (last, answer) = events_of(found.text)
    assert progress and {name for name, _ in progress} == {"progress"}
    done = [one["done"] for _, one in progress]
    assert done == sorted(done) and {one["total"] for _, one in progress} == {200}
    assert (last, answer) == ("answer", plain.json())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/find", {"text": "Attention [CITATION]. Graphs [CITATION]."}),
        ("/v1/fill", {"text": "A \\cite<attention is all you need>."}),
        ("/v1/pick", {"text": "Attention [CITATION]."}),
        ("/v1/verify", {"sentence": "Attention.", "id": "fx:1"}),
    ],
)
def test_whatever_takes_long_gives_the_same_answer_as_events(
    client: Any, path: str, body: Any
) -> None:
    found = client.post(path, json=body, headers={"Accept": "text/event-stream, */*"})
    assert events_of(found.text)[-1] == ("answer", client.post(path, json=body).json())


def test_what_fails_in_a_stream_is_its_last_event(client: Any, problem: Any) -> None:
    events = {"Accept": "text/event-stream"}
    # What cannot be read is refused before a stream begins.
    assert problem(client.post("/v1/check", json={"k": 1}, headers=events))[0] == 422
    body = {"sentence": "Attention.", "id": "fx:none"}
    found = client.post("/v1/verify", json=body, headers=events)
    ((name, data),) = events_of(found.text)
    assert (found.status_code, name, data["code"], data["status"]) == (
        200, "problem", "record-unknown", 404,
    )  # fmt: skip


def test_answers_are_not_kept_by_anybody_between(client: Any) -> None:
    found = client.get("/v1/health")
    assert found.headers["cache-control"] == "no-store"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert json.loads(found.content)["status"] == "ok"


HALF = "ab \ud83d"
NEEDED: dict[str, dict[str, Any]] = {
    "/v1/related": {"ids": ["fx:1"]}, "/v1/map": {"ids": ["fx:1"]}, "/v1/papers": {"ids": ["fx:1"]},
    "/v1/verify": {"sentence": "Attention.", "id": "fx:1"}, "/v1/fill": {"text": "\\cite<attention>"},
    "/v1/check": {"text": "@misc{a, title={Attention}}"},
}  # fmt: skip
"""Fields without which an endpoint does nothing, where the field `text` is not enough."""
HALF_VALUES = {
    "string": (HALF, f"\\cite<{HALF}> @misc{{{HALF}, title={{{HALF}}}}}"),
    "array": ([HALF],), "object": ({HALF: HALF},),
}  # fmt: skip


@pytest.mark.parametrize("one", ENDPOINTS, ids=lambda one: f"{one.method} {one.path}")
def test_half_a_surrogate_pair_is_replaced_wherever_it_stands(client: Any, one: Any) -> None:
    schemas = openapi_document(ENDPOINTS)["components"]["schemas"]
    fields = schemas.get(one.operation.request.__name__, {}).get("properties", {})
    needed = NEEDED.get(one.path, {"text": "Attention [CITATION]."} if "text" in fields else {})
    requests = [{HALF: HALF}] + [
        needed | {name: value}
        for name, field in fields.items()
        for value in HALF_VALUES.get(field.get("type", "string"), ())
    ]
    for request in requests:
        if one.method == "POST":
            headers = {"Content-Type": "application/json"}
            found = client.post(one.path, content=json.dumps(request), headers=headers)
        else:
            query = urlencode(request, errors="surrogatepass")
            found = client.get(f"{one.path.replace('{id}', '%ED%A0%BD')}?{query}")
        assert found.status_code in (200, 400, 403, 404, 422), (request, found.text)
