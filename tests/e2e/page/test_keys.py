"""The page with the keyboard alone."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

MAX_STOPS = 200
"""Presses of Tab after which an element counts as not reached."""


def focused(page: Any) -> Any:
    return page.locator("*:focus")


def searched(page: Any) -> None:
    expect(page.locator(".paper:visible").first).to_be_visible()
    expect(page.locator(".toolbar .busy")).to_have_count(0)
    expect(page.locator("#main")).to_be_focused()


def test_search_keep_and_open_without_a_mouse(page: Any) -> None:
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("attention /jkx")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_have_value("attention /jkx/")
    page.keyboard.press("Control+A")
    page.keyboard.type("attention")
    page.keyboard.press("Enter")
    searched(page)
    titles = page.locator(".paper h2 a").all_text_contents()
    for key, place in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(focused(page)).to_have_text(titles[place])
    page.keyboard.press("x")
    expect(page.locator("#kept-count")).to_have_text("1")
    expect(page.locator(".paper.kept")).to_have_count(1)
    page.keyboard.press("/")
    page.keyboard.type("residual")
    expect(page.get_by_role("searchbox")).to_have_value("residual")
    page.go_back()
    expect(page.locator(".intro")).to_be_visible()
    page.go_forward()
    searched_again = page.locator(".paper h2 a").first
    expect(searched_again).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Record")).to_be_visible()


def test_the_keys_are_explained_and_can_be_switched_off(page: Any) -> None:
    page.get_by_role("searchbox").fill("attention")
    page.keyboard.press("Enter")
    searched(page)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    dialog.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.locator("#main").focus()
    page.keyboard.press("j")
    page.keyboard.press("?")
    expect(dialog).to_be_hidden()
    expect(page.locator("#main")).to_be_focused()
    page.reload()
    expect(page.locator(".paper:visible").first).to_be_visible()
    page.keyboard.press("?")
    expect(dialog).to_be_hidden()


def test_the_first_key_leads_past_the_head(open_page: Any, url: str) -> None:
    page, _ = open_page(url, "/?view=check")
    expect(page.get_by_label("Paste BibTeX")).to_be_visible()
    page.keyboard.press("Tab")
    expect(focused(page)).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    assert "#" not in page.url


def tab_to(page: Any, wanted: Any) -> None:
    """Press Tab until the element has the focus."""
    expect(wanted).to_be_visible()
    for _ in range(MAX_STOPS):
        page.keyboard.press("Tab")
        if wanted.evaluate("(node) => node === document.activeElement"):
            return
    raise AssertionError(f"Tab does not reach {wanted}")


def test_each_view_is_used_without_a_mouse(page: Any) -> None:
    def press(wanted: Any, key: str = "Enter") -> None:
        tab_to(page, wanted)
        page.keyboard.press(key)

    def view(name: str) -> None:
        press(page.get_by_role("navigation").get_by_role("link", name=name))
        expect(page.locator("#main")).to_be_focused()

    view("Passage")
    tab_to(page, page.get_by_label("Paste a passage"))
    page.keyboard.type("Attention alone translates well [CITATION].")
    press(page.get_by_role("button", name="Find citations"))
    press(page.get_by_role("button", name="Cite here").first, "Space")
    expect(page.locator(".result pre").first).to_contain_text("[@")
    press(page.get_by_role("button", name="Copy bibliography"))
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    view("Check")
    tab_to(page, page.get_by_label("Paste BibTeX"))
    page.keyboard.type("@article{a, title={Long Short-Term Memory}, author={Hochreiter, Sepp and ")
    page.keyboard.type("Schmidhuber, Jürgen}, journal={Neural Computation}, year={2003}}")
    press(page.get_by_role("button", name="Check", exact=True))
    press(page.get_by_role("button", name="Copy the corrected file"))
    assert "1997" in page.evaluate("navigator.clipboard.readText()")
    press(page.locator(".reference a[href*='view=paper']").first)
    expect(page.locator("aside .tag")).to_be_visible()
    press(page.get_by_role("link", name="Map"))
    press(page.locator(".map a.node").first)
    expect(page.get_by_role("heading", name="Record")).to_be_visible()
    expect(page.locator(".busy")).to_have_count(0)
    press(page.get_by_role("button", name="Keep").first)
    view("Kept")
    press(page.get_by_role("button", name="BibTeX").first)
    expect(page.locator("pre")).to_contain_text("@")
    view("Library")
    press(page.get_by_text("The steps and their times"))
    expect(page.get_by_role("region", name="Steps of a search")).to_be_visible()
