"""Searching on the page, as a person with a mouse does."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from playwright.sync_api import expect

FIRST = "Attention Is All You Need"


def search(page: Any, words: str) -> None:
    """Search, and wait until the last pass is listed."""
    page.get_by_role("searchbox").fill(words)
    page.get_by_role("button", name="Search").click()
    settled(page)


def settled(page: Any) -> None:
    expect(page.locator(".paper:visible").first).to_be_visible()
    expect(page.locator(".toolbar .busy")).to_have_count(0)


def paper(page: Any, title: str) -> Any:
    return page.locator(".paper").filter(has=page.get_by_role("link", name=title, exact=True))


def test_a_search_lists_papers_with_their_reasons(page: Any) -> None:
    search(page, "attention for translation")
    row = paper(page, FIRST)
    expect(row).to_contain_text("Ashish Vaswani")
    expect(row).to_contain_text("2017")
    expect(row.locator(".why")).to_contain_text("attention")
    row.get_by_role("button", name="Why").click()
    expect(row.locator(".detail li").first).to_contain_text("search, rank")
    row.get_by_role("button", name="Abstract").click()
    expect(row).to_contain_text("no recurrence or convolution")
    assert "q=attention+for+translation" in page.url


def test_later_passes_never_move_what_is_listed(page: Any) -> None:
    search(page, "attention")
    lists = [one for one in page.evaluate("window.lists") if one]
    assert lists
    for before, after in itertools.pairwise(lists):
        assert after[: len(before)] == before


def test_a_reference_can_be_copied_in_each_form(page: Any) -> None:
    search(page, "attention is all you need")
    row = paper(page, FIRST)
    row.get_by_role("button", name="Cite").click()
    expect(row.locator("pre")).to_contain_text("Vaswani, A.")
    row.get_by_role("button", name="MLA").click()
    expect(row.locator("pre")).to_contain_text(
        "Vaswani, Ashish, et al. “Attention Is All You Need.”"
    )
    row.get_by_role("button", name="CSL").click()
    expect(row.locator("pre")).to_contain_text('"title": "Attention Is All You Need"')
    row.get_by_role("button", name="BibTeX").click()
    expect(row.locator("pre")).to_contain_text("@inproceedings{")
    row.get_by_role("button", name="Copy").click()
    expect(row.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("@inproceedings{")


def test_what_was_understood_can_be_removed(page: Any) -> None:
    search(page, "attention since 2017")
    chips = page.get_by_role("list", name="Understood")
    expect(chips).to_contain_text("since 2017")
    chips.get_by_role("button", name="Remove year since 2017").click()
    expect(page.get_by_role("searchbox")).to_have_value("attention")
    settled(page)
    expect(chips.get_by_role("button", name="Remove year")).to_have_count(0)


def test_boxes_narrow_the_list_and_the_address_keeps_them(page: Any) -> None:
    search(page, "attention")
    rows = page.locator(".paper:visible")
    all_rows = rows.count()
    page.get_by_role("group", name="Year").get_by_role("checkbox").first.check()
    expect(page.locator(".toolbar")).to_contain_text(f"of {all_rows} papers")
    narrowed = rows.count()
    assert 0 < narrowed < all_rows
    assert "year=" in page.url
    page.reload()
    settled(page)
    expect(rows).to_have_count(narrowed)


def test_back_and_forward_show_the_lists_as_they_were(page: Any) -> None:
    search(page, "attention")
    titles = page.locator(".paper h2").all_text_contents()
    search(page, "residual learning")
    page.locator(".paper h2 a").first.click()
    expect(page.get_by_role("heading", name="Record")).to_be_visible()
    expect(page.locator("aside .tag")).to_have_text("verified")
    page.go_back()
    expect(page.get_by_role("searchbox")).to_have_value("residual learning")
    page.go_back()
    expect(page.get_by_role("searchbox")).to_have_value("attention")
    settled(page)
    assert page.locator(".paper h2").all_text_contents() == titles
    page.go_forward()
    expect(page.get_by_role("searchbox")).to_have_value("residual learning")


def test_kept_papers_are_exported_and_lead_to_more(page: Any) -> None:
    search(page, "attention is all you need")
    paper(page, FIRST).get_by_role("button", name="Keep").click()
    expect(page.locator("#kept-count")).to_have_text("1")
    page.get_by_role("navigation").get_by_role("link", name="Kept").click()
    page.get_by_role("button", name="BibTeX").click()
    expect(page.locator("pre")).to_contain_text("@inproceedings{")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download kept.bib").click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert text.startswith("@inproceedings{") and FIRST in text
    page.get_by_role("link", name="More like these").click()
    settled(page)
    assert page.locator(".paper").count() > 1


def test_the_focus_moves_once_and_not_when_later_passes_arrive(page: Any) -> None:
    page.get_by_role("searchbox").fill("attention")
    page.evaluate(
        "document.addEventListener('focusin', (event) => (window.focused ??= []).push(event.target.id))"
    )
    page.keyboard.press("Enter")
    settled(page)
    assert page.evaluate("window.focused") == ["main"]
    expect(page.locator("#main")).to_be_focused()


def test_the_order_and_the_years_keep_the_ticked_boxes(page: Any) -> None:
    search(page, "attention")
    page.get_by_role("group", name="Kind").get_by_role("checkbox").first.check()
    ticked = re.search(r"kind=[^&]+", page.url)
    assert ticked is not None
    page.get_by_label("Order").select_option("recent")
    expect(page).to_have_url(re.compile("order=recent"))
    settled(page)
    assert ticked[0] in page.url
    page.get_by_label("Year from").fill("2000")
    page.get_by_label("Year from").press("Enter")
    expect(page).to_have_url(re.compile("from=2000"))
    settled(page)
    assert ticked[0] in page.url
    expect(page.get_by_role("group", name="Kind").get_by_role("checkbox").first).to_be_checked()


def test_the_library_page_is_readable_on_a_narrow_screen(open_page: Any, url: str) -> None:
    page, _ = open_page(url, "/?view=library", viewport={"width": 320, "height": 640})
    expect(page.get_by_role("img", name="Works of each year")).to_be_visible()
    width = "(nodes) => Math.min(...nodes.map((one) => one.getBoundingClientRect().width))"
    assert page.locator(".facts dd").evaluate_all(width) > 200


def test_a_box_leaves_the_language_model_out_of_a_search(
    open_page: Any, page_env: dict[str, str], serving: Any, chat: Any
) -> None:
    pytest.importorskip("dspy")
    requests: list[Any] = []

    def script(request: Any) -> Any:
        requests.append(request)
        return chat.Reply("{}")

    model = chat.ChatServer(script)
    given = page_env | {
        "CITEWELL_LLM_PROVIDER": "llamacpp",
        "CITEWELL_LLM_MODEL": "scripted",
        "CITEWELL_LLM_BASE_URL": model.url,
    }
    try:
        with serving(given) as (address, _):
            page, _seen = open_page(address, "/?q=residual+networks&model=no")
            settled(page)
            box = page.get_by_role("checkbox", name="Ask the language model")
            expect(box).not_to_be_checked()
            assert requests == []
            box.check()
            expect(page).not_to_have_url(re.compile("model="))
            settled(page)
            expect(box).to_be_checked()
            assert requests
    finally:
        model.close()


def test_a_list_shows_its_total_citations_and_the_abstracts_that_there_are(page: Any) -> None:
    expect(page.get_by_role("searchbox")).to_be_focused()
    search(page, "attention")
    total = page.locator(".paper:visible").count()
    expect(page.locator(".toolbar p").first).to_contain_text(f"{total} papers")
    row = paper(page, FIRST)
    expect(row).to_contain_text(re.compile(r"cited [\d,]+ times"))
    assert row.inner_text().index("Vaswani") < row.inner_text().index(FIRST)
    without = page.locator(".paper:visible").filter(
        has_not=page.get_by_role("button", name="Abstract")
    )
    with_one = page.locator(".paper:visible").filter(
        has=page.get_by_role("button", name="Abstract")
    )
    assert with_one.count() and without.count() + with_one.count() == total
