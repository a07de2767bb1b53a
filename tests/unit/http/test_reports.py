"""Reports of eval and tune: which are kept, who may open them, and that nothing else is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.usecases import reports
from citewell.usecases.reports import MAX_REPORTS, keep_report, read_report, report_folder

TOKEN = "a-token"
PAGE = "<!doctype html><title>How well: A &amp; B</title><style>p{color:red}</style><p>text"
ADMITTED = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's data folder."""
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_a_report_is_kept_listed_and_read(client: Any) -> None:
    assert client.get("/v1/reports").json() == {"reports": []}
    assert keep_report("eval", PAGE) is None
    assert keep_report("tune", "<title>Tuning of “pick”</title>") is None
    tuned, evaluated = client.get("/v1/reports").json()["reports"]
    assert (tuned["kind"], tuned["title"]) == ("tune", "Tuning of “pick”")
    assert (evaluated["kind"], evaluated["title"]) == ("eval", "How well: A & B")
    assert tuned["created"] >= evaluated["created"]
    found = client.get(f"/{evaluated['address']}")
    assert found.text == PAGE
    assert found.headers["content-type"] == "text/html; charset=utf-8"
    policy = found.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "sandbox", "frame-ancestors 'none'"} <= {*policy}
    assert not any("script" in one or "http" in one for one in policy)
    assert found.headers["cache-control"] == "no-store"
    assert found.headers["x-content-type-options"] == "nosniff"


def test_only_the_owner_reads_the_files_and_the_last_ones_stay() -> None:
    for number in range(MAX_REPORTS + 3):
        keep_report("eval", f"<title>{number}</title>")
    keep_report("tune", PAGE)
    found = reports.reports()
    assert [one.kind for one in found] == ["tune"] + ["eval"] * MAX_REPORTS
    assert [one.title for one in found[1:3]] == [str(MAX_REPORTS + 2), str(MAX_REPORTS + 1)]
    assert {path.stat().st_mode & 0o077 for path in report_folder().iterdir()} == {0}


def test_no_other_file_is_a_report(data: Path) -> None:
    keep_report("eval", PAGE)
    (name,) = (one.name for one in reports.reports())
    (data / name).write_text("outside")
    (data / "reports" / "20260101T000000000000Z-tune.html").symlink_to(data / name)
    (data / "reports" / "notes.html").write_text("no report")
    (data / "reports" / "20260102T000000000000Z-tune.html").write_bytes(b"\xff\xfe no text")
    assert [one.name for one in reports.reports()] == [name]
    for other in (
        "notes.html",
        f"../{name}",
        f"../reports/{name}",
        "",
        "..",
        f"{name}\0",
        f"{name}\n",
    ):
        assert read_report(other) is None, other


def test_a_report_opens_with_its_key_and_with_no_other(
    http_options: Options, http_engine: LocalEngine, client_of: Any, problem: Any
) -> None:
    client = client_of(http_options, http_engine, token=TOKEN)
    keep_report("eval", PAGE)
    keep_report("tune", PAGE)
    assert problem(client.get("/v1/reports")) == (401, "token-missing")
    tuned, evaluated = client.get("/v1/reports", headers=ADMITTED).json()["reports"]
    assert client.get(f"/{evaluated['address']}").text == PAGE
    _, key, name = evaluated["address"].split("/")
    wrong = (
        f"/reports/{tuned['address'].split('/')[1]}/{name}",
        f"/reports/{key[:-1]}/{name}",
        f"/reports/ä/{name}",
        f"/reports/{key}/../{name}",
        f"/reports/{key}/%2e%2e%2f{name}",
        f"/reports/{name}",
        "/reports/",
    )
    for path in wrong:
        assert problem(client.get(path)) == (404, "endpoint-unknown"), path
    assert problem(client.post(f"/{evaluated['address']}")) == (401, "token-missing")
    assert problem(client.get("/reports/../v1/status"))[0] in (401, 404)
    cross = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert problem(client.get(f"/{evaluated['address']}", headers=cross)) == (403, "origin-refused")


def test_a_public_demo_lists_none(
    http_options: Options, http_engine: LocalEngine, client_of: Any
) -> None:
    keep_report("eval", PAGE)
    shown = replace(http_options, serve=replace(http_options.serve, read_only=True))
    assert client_of(shown, http_engine).get("/v1/reports").json() == {"reports": []}


def test_a_folder_that_cannot_be_written_is_a_problem_and_no_error(data: Path) -> None:
    data.write_text("a file")
    found = keep_report("eval", PAGE)
    assert found is not None and found.code == "evaluation-unkept"
    assert reports.reports() == ()
