"""The page of the OpenAPI document in a browser: it shows every request and sends one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

TOKEN = "a-token-of-this-test"
WAIT = 120_000
"""Milliseconds until a test gives up waiting; never what it measures."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium of this machine."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 320)])
def test_a_reader_finds_each_request_and_sends_one(
    serving: Any, env: dict[str, str], browser: Any, scheme: str, width: int
) -> None:
    from citewell.http.endpoints import ENDPOINTS

    with serving(env, token=TOKEN) as (url, _):
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
        context.set_default_timeout(WAIT)
        page = context.new_page()
        messages: list[str] = []
        requests: list[str] = []
        page.on("console", lambda one: messages.append(one.text))
        page.on("pageerror", lambda one: messages.append(str(one)))
        page.on("request", lambda one: requests.append(one.url))
        page.goto(f"{url}/docs")
        page.get_by_text("This server needs its token.").wait_for()
        # The browser's own line about the refused request.
        assert [one for one in messages if "401" not in one] == []
        messages.clear()
        page.get_by_label("Token of this server").fill(TOKEN)
        page.get_by_role("button", name="Use it").click()
        page.get_by_text(f"{len(ENDPOINTS)} requests").wait_for()
        search = page.locator("#search")
        search.locator("summary").click()
        search.get_by_label("JSON body").fill('{"query": "attention is all you need", "k": 1}')
        search.get_by_role("button", name="Send").click()
        search.get_by_label("Answer").get_by_text('"title": "Attention Is All You Need"').wait_for()
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        page.locator("#get_paper").get_by_role("button", name="Send").wait_for()
        assert messages == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert {one for one in requests if not one.startswith((f"{url}/", "data:"))} == set()
        context.close()
