"""What goes wrong around the page: hostile records, servers that go, libraries that change."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import expect

TOKEN = "a-token-of-the-page"
GONE = "net::ERR_"


def settled(page: Any) -> None:
    expect(page.locator(".paper:visible").first).to_be_visible()
    expect(page.locator(".toolbar .busy")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 320])
def test_hostile_records_stay_text(open_page: Any, url: str, width: int) -> None:
    page, _ = open_page(url, "/?q=zebrafish", viewport={"width": width, "height": 700})
    settled(page)
    rows = page.locator(".paper").filter(has_text="zebrafish")
    expect(rows).to_have_count(4)
    expect(page.get_by_role("link", name="<img src=x onerror=alert(1)>")).to_be_visible()
    for button in rows.get_by_role("button", name="Abstract").all():
        button.click()
    expect(rows.locator(".detail p.isolate")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    tallest = max(one.bounding_box()["height"] for one in page.locator(".paper h2").all())
    assert tallest < 200
    assert page.locator("main img, main script, main b").count() == 0
    for name in ("markup", "bidi", "long", "template"):
        page.goto(f"{url}/?view=paper&id=evil:{name}")
        expect(page.locator("aside .tag")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("a[href^='javascript:'], main img, main script, main b").count() == 0


def test_a_keyword_of_a_record_finds_the_papers_that_have_it(open_page: Any, url: str) -> None:
    page, _ = open_page(url, "/?view=paper&id=evil:markup")
    page.get_by_role("link", name="striped fish", exact=True).click()
    settled(page)
    expect(page.locator(".paper")).to_have_count(4)


def test_the_page_waits_for_a_server_that_is_gone(
    open_page: Any, page_env: dict[str, str], serving: Any
) -> None:
    with serving(page_env) as (url, _):
        page, seen = open_page(url, "/?q=attention")
        settled(page)
        seen.allowed.append(GONE)
    page.get_by_role("searchbox").fill("residual")
    page.keyboard.press("Enter")
    expect(page.locator("#connection")).to_contain_text("The server does not respond")
    with serving(page_env, "--port", url.rpartition(":")[2]):
        expect(page.locator("#connection")).to_be_hidden()
        settled(page)
        expect(page.get_by_role("searchbox")).to_have_value("residual")
        expect(page.locator(".notice.bad:visible")).to_have_count(0)


def test_without_a_library_it_says_what_to_do(
    open_page: Any, page_env: dict[str, str], serving: Any, tmp_path: Path
) -> None:
    empty = page_env | {"CITEWELL_LIBRARY_PATH": str(tmp_path), "CITEWELL_LIBRARY_STARTER": "false"}
    with serving(empty) as (url, _):
        page, seen = open_page(url)
        expect(page.get_by_role("heading", name="There is no library yet")).to_be_visible()
        seen.allowed.append("503")
        page.get_by_role("searchbox").fill("attention")
        page.keyboard.press("Enter")
        expect(page.get_by_text("pip install ./corpus_tools/starter")).to_be_visible()
        page.get_by_role("navigation").get_by_role("link", name="Library").click()
        expect(page.get_by_role("heading", name="There is no library yet")).to_be_visible()


def test_a_library_that_grows_is_searched_without_a_new_start(
    open_page: Any, env: dict[str, str], serving: Any, add: Any, tmp_path: Path
) -> None:
    own = env | {"CITEWELL_LIBRARY_PATH": str(tmp_path / "libraries")}
    papers = [tmp_path / f"{name}.jsonl" for name in ("before", "after")]
    for path, title in zip(papers, ("Porcelain Teacups", "Porcelain Saucers"), strict=True):
        record = {"id": path.stem, "title": title, "authors": ["Jo Roe"], "year": 2001}
        path.write_text(json.dumps(record | {"kind": "article", "source": "own"}), "utf-8")
    add(own, tmp_path, papers[0])
    with serving(own) as (url, _):
        page, _ = open_page(url, "/?q=porcelain")
        expect(page.locator(".paper")).to_have_count(1)
        add(own, tmp_path, papers[1])
        # The engine looks for a new library at most once in a while.
        while True:
            found = httpx2.post(f"{url}/v1/search", json={"query": "saucers"}, timeout=300).json()
            if found["papers"] and found["papers"][0]["title"] == "Porcelain Saucers":
                break
            time.sleep(0.1)
        page.reload()
        expect(page.locator(".paper")).to_have_count(2)


def test_a_token_stays_out_of_the_address(
    open_page: Any, page_env: dict[str, str], serving: Any
) -> None:
    with serving(page_env, token=TOKEN) as (url, _):
        page, _ = open_page(url, f"/?q=attention#{TOKEN}")
        settled(page)
        assert TOKEN not in page.url
        page.reload()
        settled(page)
        other, seen = open_page(url, "/?q=attention")
        seen.allowed.append("401")
        expect(other.get_by_role("heading", name="Token")).to_be_visible()
        other.get_by_label("token").fill(TOKEN)
        other.get_by_role("button", name="Continue").click()
        settled(other)


def test_a_link_on_another_site_opens_the_page_and_nothing_else(open_page: Any, url: str) -> None:
    page, seen = open_page(url)
    expect(page.get_by_role("searchbox")).to_be_visible()
    foreign = "https://site.example"
    seen.allowed.append("403")
    body = f"<a href='{url}/?q=attention'>page</a> <a href='{url}/v1/status'>status</a>"
    page.context.route(
        f"{foreign}/*", lambda route: route.fulfill(body=body, content_type="text/html")
    )
    page.goto(f"{foreign}/links")
    page.get_by_role("link", name="page").click()
    settled(page)
    page.goto(f"{foreign}/links")
    with page.expect_response(f"{url}/v1/status") as answered:
        page.get_by_role("link", name="status").click()
    assert answered.value.status == 403
    assert {one.rpartition("/")[0] for one in seen.foreign} == {foreign}
    seen.foreign.clear()
