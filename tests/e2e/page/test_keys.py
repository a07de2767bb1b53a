"""The page with the keyboard alone."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect


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


def test_the_first_key_leads_past_the_head(page: Any) -> None:
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.keyboard.press("Tab")
    expect(focused(page)).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    assert "#" not in page.url
