"""The page's files, their headers, and who may open it."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from citewell.http.server import guarded_app
from citewell.serving.guard import Admission
from citewell.serving.problem_json import CONTENT_SECURITY_POLICY as POLICY
from citewell.web import open_page, with_page
from citewell.web.page import HEADERS, static_files, words_module

ADDRESS = "http://127.0.0.1:7413"
MAX_FIRST = 60_000
"""Bytes of the own files that a browser loads for a search, before compression."""
MAX_SENT = 39_000
"""Bytes of all own files, as they are sent to a browser."""
MODULE = re.compile(r'^import .*"\./(\w+\.js)";$', re.MULTILINE)
OPENED = {
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}
OWN = {name: text for name, text in static_files().items() if not name.startswith("vendor/")}
SERVED = {**OWN, "words.js": words_module()}
VENDORED = {
    "vendor/d3-dispatch.min.js": "3.0.2",
    "vendor/d3-force.min.js": "3.0.1",
    "vendor/d3-quadtree.min.js": "3.0.2",
    "vendor/d3-timer.min.js": "3.0.2",
}


def client_of(token: str = "", origins: tuple[str, ...] = ()) -> TestClient:
    """A client of the page before an application that answers `data` to everything."""
    admission = Admission.at("127.0.0.1", 7413, token=token, origins=origins, pages=("/",))
    app = guarded_app(PlainTextResponse("data"), admission, origins, with_page)
    return TestClient(app, base_url=ADDRESS)


@pytest.fixture
def client() -> TestClient:
    return client_of()


def assets_of(client: TestClient) -> list[str]:
    """The addresses of files in the shell."""
    return re.findall(r'(?:src|href)="(assets/[^"]+)"', client.get("/").text)


def test_the_shell_and_its_files_carry_the_policy(client: TestClient) -> None:
    shell = client.get("/")
    assert shell.headers["content-type"] == "text/html; charset=utf-8"
    assert shell.headers["cache-control"] == "no-cache"
    addresses = assets_of(client)
    assert len(addresses) >= 3
    for found in (shell, *(client.get(f"/{one}") for one in addresses)):
        assert found.status_code == 200
        for name, value in HEADERS.items():
            assert found.headers[name] == value
    assert "immutable" in client.get(f"/{addresses[0]}").headers["cache-control"]


def test_the_policy_has_no_exception() -> None:
    assert "require-trusted-types-for 'script'" in POLICY and "trusted-types 'none'" in POLICY
    assert "default-src 'none'" in POLICY and "frame-ancestors 'none'" in POLICY
    assert not re.search(r"unsafe|\*|https?:|blob:", POLICY)


def test_every_file_is_served_under_its_type(client: TestClient) -> None:
    before = assets_of(client)[0].rpartition("/")[0]
    kinds = {
        "js": "text/javascript",
        "css": "text/css",
        "svg": "image/svg+xml",
        "txt": "text/plain",
    }
    for name, content in static_files().items():
        if name != "index.html":
            found = client.get(f"/{before}/{name}")
            assert found.content == content
            assert found.headers["content-type"].startswith(kinds[name.rpartition(".")[2]])


@pytest.mark.parametrize(
    "path",
    [
        "/assets/",
        "/assets/x/app.js",
        "/assets/../page.py",
        "/app.js",
        "/index.html",
        "/assets/%2e%2e/page.py",
    ],
)
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).text == "data"


def test_a_program_that_asks_for_json_reaches_the_application(client: TestClient) -> None:
    assert client.get("/", headers={"Accept": "application/json"}).text == "data"
    for accept in ("*/*", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"):
        found = client.get("/", headers={"Accept": accept})
        assert found.headers["content-type"].startswith("text/html")
        assert "accept" in found.headers["vary"].split(", ")


def test_other_methods_reach_the_application(client: TestClient) -> None:
    assert client.post("/").text == "data"
    assert client.head("/").status_code == 200
    assert client.head("/").content == b""


def test_a_changed_file_has_another_address(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = assets_of(client)
    monkeypatch.setattr(
        "citewell.web.page.static_files", lambda: {**static_files(), "more.js": b"1"}
    )
    assert not {*before} & {*assets_of(client_of())}


def test_the_page_comes_before_the_token_and_the_data_after_it() -> None:
    client = client_of("a-token")
    assert client.get("/").status_code == 200
    assert client.get(f"/{assets_of(client)[0]}").status_code == 200
    assert client.get("/v1/status").status_code == 401
    assert client.get("/v1/status", headers={"Authorization": "Bearer a-token"}).text == "data"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", OPENED, 200),
        ("GET", "/?q=attention", OPENED, 200),
        ("GET", "/", OPENED | {"Sec-Fetch-Site": "same-site"}, 200),
        ("GET", "/", OPENED | {"Sec-Fetch-Dest": "iframe"}, 403),
        ("GET", "/", OPENED | {"Sec-Fetch-Mode": "no-cors"}, 403),
        ("GET", "/", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("GET", "/v1/status", OPENED, 403),
        ("GET", "/assets/x/app.js", OPENED, 403),
        ("POST", "/", OPENED, 403),
        ("GET", "/", OPENED | {"Host": "evil.example:7413"}, 421),
        ("GET", "/", {"Origin": "https://evil.example"}, 403),
        ("GET", "/", {"Origin": ADDRESS}, 200),
        ("GET", "/", {"Sec-Fetch-Site": "none"}, 200),
    ],
)
def test_a_link_on_another_site_opens_the_page_alone(
    client: TestClient, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert client.request(method, path, headers=headers).status_code == status


def test_a_server_without_the_page_opens_nothing_to_other_sites() -> None:
    app = guarded_app(PlainTextResponse("data"), Admission.at("127.0.0.1", 7413))
    found = TestClient(app, base_url=ADDRESS).get("/", headers=OPENED)
    assert found.status_code == 403


def modules_of(name: str) -> set[str]:
    """A module and those that it loads at once."""
    found, rest = {name}, [name]
    while rest:
        for one in MODULE.findall(SERVED[rest.pop()].decode("utf-8")):
            if one not in found:
                found.add(one)
                rest.append(one)
    return found


def test_a_search_loads_little() -> None:
    names = modules_of("app.js") | modules_of("search.js") | {"index.html", "page.css", "icon.svg"}
    assert {"app.js", "search.js", "dom.js", "paper.js"} <= names
    assert not {"map.js", "check.js", "passage.js", "review.js"} & names
    assert 20_000 < sum(len(SERVED[name]) for name in names) < MAX_FIRST


def test_all_files_are_sent_compressed(client: TestClient) -> None:
    before = assets_of(client)[0].rpartition("/")[0]
    sent = 0
    for name, content in OWN.items():
        path = "/" if name == "index.html" else f"/{before}/{name}"
        found = client.get(path, headers={"Accept-Encoding": "gzip"})
        assert found.headers["content-encoding"] == "gzip"
        assert found.headers["vary"] == "accept, accept-encoding"
        sent += int(found.headers["content-length"])
        plain = client.get(path, headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.content == found.content
        assert len(plain.content) == len(content) or name == "index.html"
    assert 10_000 < sent < MAX_SENT


@pytest.mark.parametrize("name", [name for name in OWN if name.endswith((".js", ".html", ".css"))])
def test_no_own_file_names_another_host_or_parses_markup(name: str) -> None:
    text = OWN[name].decode("utf-8")
    hosts = {*re.findall(r"(?:https?:)?//([\w.-]+\.[a-z]+)", text)}
    assert hosts <= {"www.w3.org", "doi.org", "arxiv.org"}, "of namespaces and of links to records"
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\sstyle=",
        text,
    )


def test_the_shell_names_commands_for_those_without_scripts() -> None:
    text = OWN["index.html"].decode("utf-8")
    assert "This page needs JavaScript." in text.partition("<noscript>")[2]
    assert "citewell find" in text and "<script>" not in text


def test_the_library_of_the_map_is_unchanged_and_licensed() -> None:
    files = static_files()
    assert {name for name in files if name.startswith("vendor/")} == {
        *VENDORED,
        "vendor/LICENSE.txt",
    }
    licence = files["vendor/LICENSE.txt"].decode("utf-8")
    for name, version in VENDORED.items():
        head = files[name].decode("utf-8").splitlines()[0]
        assert f"v{version} Copyright" in head
        assert f"{name.removeprefix('vendor/').removesuffix('.min.js')} {version}" in licence
    assert "Permission to use, copy, modify" in licence
    digest = hashlib.sha256(b"".join(files[name] for name in sorted(VENDORED))).hexdigest()
    assert digest == "e09761889be447ca33bdea0be8e68123d4a96ca366d588ef1b55f3b3685edcd5"


def test_the_address_that_is_opened_has_no_token(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened: list[str] = []

    class AtOnce:
        def __init__(self, target: Any, args: Any, **how: Any) -> None:
            self.start = lambda: target(*args)

    monkeypatch.setattr("threading.Thread", AtOnce)
    monkeypatch.setattr("webbrowser.open", opened.append)
    open_page(ADDRESS, "a-secret-token")
    open_page(ADDRESS)
    assert opened == [f"{ADDRESS}/"] * 2


def test_below_a_base_path_the_page_is_a_folder() -> None:
    admission = Admission.at("127.0.0.1", 7413, pages=("/",))
    app = guarded_app(PlainTextResponse("data"), admission, (), with_page, base_path="/cite")
    client = TestClient(app, base_url=ADDRESS, follow_redirects=False)
    moved = client.get("/cite?q=attention")
    assert (moved.status_code, moved.headers["location"]) == (308, "/cite/?q=attention")
    for before in ("/cite/", "/"):
        shell = client.get(before)
        assert "<title>Citewell</title>" in shell.text
        (first, *_) = re.findall(r'(?:src|href)="(assets/[^"]+)"', shell.text)
        assert client.get(before + first).status_code == 200


def test_nothing_of_a_server_is_loaded_with_the_package() -> None:
    code = "import sys, citewell.web; print([m for m in ('starlette', 'webbrowser') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
