"""Each view, checked by axe: light, dark, narrow and enlarged, without sideways scrolling."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

WINDOWS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 320, "height": 640}},
    # What a window of 1280 pixels at 200% shows.
    "enlarged": {"viewport": {"width": 640, "height": 450}, "device_scale_factor": 2},
}
VIEWS = {
    "/": ".intro form",
    "/?q=attention+since+2015": ".chip",
    "/?view=paper&id=fx:1": "aside .tag",
    "/?view=kept": "h1",
    "/?view=library": ".chart",
}


def violations(page: Any, axe: str) -> list[str]:
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("window", WINDOWS)
def test_every_view_is_accessible(open_page: Any, url: str, axe: str, window: str) -> None:
    page, _ = open_page(url, **WINDOWS[window], reduced_motion="reduce")
    for path, sign in VIEWS.items():
        page.goto(url + path)
        expect(page.locator(sign).first).to_be_visible()
        expect(page.locator(".busy")).to_have_count(0)
        for name in ("Abstract", "Cite", "Why"):
            for button in page.get_by_role("button", name=name).all()[:1]:
                button.click()
        expect(page.locator(".busy")).to_have_count(0)
        assert violations(page, axe) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.locator("#help-button").click()
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert violations(page, axe) == []
