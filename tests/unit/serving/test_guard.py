"""Who is let in, and who is turned away before anything of the application is reached."""

import hmac
import json
from typing import Any

import pytest

from citewell.serving.guard import Admission, NameGuard, TokenGuard, guarded

OWN = {b"host": b"127.0.0.1:80"}


async def reaches(guard: Any, headers: dict[bytes, bytes], reached: list[Any]) -> list[Any]:
    """What is sent for a request with these headers; `reached` gets it if the application does."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    reached.clear()
    await guard({"type": "http", "headers": list(headers.items())}, send, send)
    return sent


@pytest.fixture
def reached() -> list[Any]:
    return []


@pytest.fixture
def app(reached: list[Any]) -> Any:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope)

    return application


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, None),
        ({b"host": b"LOCALHOST:80"}, None),
        ({b"host": b"[::1]:80"}, None),
        ({b"host": b"my.name:8080"}, None),
        ({b"host": b"127.0.0.1:81"}, 421),
        ({b"host": b"127.0.0.1:80.evil.example"}, 421),
        ({b"host": b"\xff"}, 421),
        ({b"host": b""}, 421),
        ({b"origin": b"http://localhost:80"}, None),
        ({b"origin": b"http://page.example"}, None),
        ({b"origin": b"http://page.example.evil"}, 403),
        ({b"origin": b"null"}, 403),
        ({b"sec-fetch-site": b"cross-site"}, 403),
        ({b"sec-fetch-site": b"same-site"}, 403),
        ({b"sec-fetch-site": b"same-origin"}, None),
        ({b"sec-fetch-site": b"none"}, None),
    ],
)
async def test_names_and_pages(
    app: Any, reached: list[Any], headers: dict[bytes, bytes], status: int | None
) -> None:
    admission = Admission.at(
        "127.0.0.1", 80, origins=["http://page.example/"], hosts=["my.name:8080"]
    )
    sent = await reaches(NameGuard(app, admission), OWN | headers, reached)
    assert bool(reached) is (status is None)
    if status is not None:
        assert sent[0]["status"] == json.loads(sent[1]["body"])["status"] == status


async def test_a_server_of_other_machines_has_its_own_name_alone(
    app: Any, reached: list[Any]
) -> None:
    guard = guarded(app, Admission.at("192.0.2.1", 80, token="t"))
    for host, passed in ((b"192.0.2.1:80", True), (b"127.0.0.1:80", False)):
        await reaches(guard, {b"host": host, b"authorization": b"Bearer t"}, reached)
        assert bool(reached) is passed
    six = Admission.at("2001:db8::1", 80)
    assert six.hosts == {"[2001:db8::1]:80"}


async def test_the_start_and_end_of_an_application_pass(app: Any, reached: list[Any]) -> None:
    await guarded(app, Admission.at("127.0.0.1", 80, token="t"))({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
    assert reached


@pytest.mark.parametrize(
    ("header", "passed"),
    [
        (b"Bearer a-token", True),
        (b"Bearer a-tokem", False),
        (b"Bearer a-token ", False),
        (b"bearer a-token", False),
        (b"a-token", False),
        (b"", False),
        (None, False),
        ("Bearer \u00fc".encode(), False),
    ],
)
async def test_the_token_is_compared_whole_and_in_constant_time(
    app: Any,
    reached: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    header: bytes | None,
    passed: bool,
) -> None:
    """By the standard library's comparison, which takes as long for a near miss as for any other."""
    compared: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, expected: bytes) -> bool:
        compared.append((given, expected))
        return real(given, expected)

    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", compare)
    headers = {} if header is None else {b"authorization": header}
    sent = await reaches(TokenGuard(app, "a-token"), headers, reached)
    assert compared == [(header or b"", b"Bearer a-token")]
    assert bool(reached) is passed
    assert passed or sent[0]["status"] == 401


@pytest.mark.parametrize(("host", "own"), [("0.0.0.0", "0.0.0.0"), ("::", "[::]")])
def test_a_server_at_all_addresses_answers_to_this_machine_too(host: str, own: str) -> None:
    admission = Admission.at(host, 80)
    names = {f"{name}:80" for name in ("127.0.0.1", "localhost", "[::1]", own)}
    assert admission.hosts == names and admission.origins == {f"http://{name}" for name in names}
