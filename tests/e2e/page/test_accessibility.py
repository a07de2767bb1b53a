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
PASSAGE = "Attention alone translates well [CITATION]."
BIB = "@article{a, title={Long Short-Term Memory}, author={Hochreiter, Sepp}, year={2003}}"
VIEWS = {
    "/": ".intro form",
    "/?q=attention+since+2015": ".chip",
    "/?view=paper&id=fx:1": "aside .tag",
    "/?view=passage": ".passage",
    "/?view=check": ".drop",
    "/?view=review": ".drop",
    "/?view=map&id=fx:1&id=fx:2&id=fx:3": ".map svg",
    "/?view=map": ".map img",
    "/?view=kept": "h1",
    "/?view=library": ".chart",
}


PAPER = (
    "\\documentclass{article}\n\\begin{document}\nAs some say \\cite{roe,doe}.\n\\end{document}\n"
)


def violations(page: Any, axe: str) -> list[str]:
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


def fill_in(page: Any) -> None:
    """Get the answers of the views that have a form."""
    if "view=passage" in page.url:
        page.get_by_label("Paste a passage").fill(PASSAGE)
        page.get_by_role("button", name="Find citations").click()
        page.locator(".accept").first.click()
        expect(page.locator(".result pre").first).to_be_visible()
    if "view=check" in page.url:
        page.get_by_label("Paste BibTeX").fill(BIB)
        page.get_by_role("button", name="Check", exact=True).click()
        expect(page.locator(".reference")).to_be_visible()
    if "view=review" in page.url:
        paper = {"name": "paper.tex", "mimeType": "text/x-tex", "buffer": PAPER.encode()}
        page.locator("#folder").evaluate("(field) => (field.webkitdirectory = false)")
        page.get_by_label("Choose the folder").set_input_files(paper)
        page.get_by_role("button", name="Silence").first.click()


@pytest.mark.parametrize("window", WINDOWS)
def test_every_view_is_accessible(open_page: Any, url: str, axe: str, window: str) -> None:
    page, _ = open_page(url, **WINDOWS[window], reduced_motion="reduce")
    for path, sign in VIEWS.items():
        page.goto(url + path)
        expect(page.locator(sign).first).to_be_visible()
        expect(page.locator(".busy")).to_have_count(0)
        fill_in(page)
        for name in ("Abstract", "Cite", "Why"):
            for button in page.get_by_role("button", name=name).all()[:1]:
                button.click()
        expect(page.locator(".busy")).to_have_count(0)
        assert violations(page, axe) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.locator("#help-button").click()
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert violations(page, axe) == []
