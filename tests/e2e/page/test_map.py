"""A map of papers, with the same papers as a list."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect


def test_a_map_shows_papers_by_year_and_the_same_list(open_page: Any, url: str) -> None:
    page, _ = open_page(url, "/?q=attention")
    expect(page.locator(".toolbar .busy")).to_have_count(0)
    page.get_by_role("link", name="Map").click()
    chart = page.get_by_role("group", name="Map of")
    expect(chart).to_be_visible()
    nodes = chart.get_by_role("link")
    titles = (
        page.get_by_role("list", name="Papers of the map")
        .get_by_role("heading")
        .all_text_contents()
    )
    assert nodes.count() == len(titles) > 5
    places = {
        one.get_attribute("aria-label") or "": float(one.locator("circle").get_attribute("cx") or 0)
        for one in nodes.all()
    }
    assert all(any(name.partition(": ")[2][:99] in title for title in titles) for name in places)
    early = next(x for name, x in places.items() if name.startswith("Hochreiter 1997"))
    late = next(x for name, x in places.items() if name.endswith("Attention Is All You Need"))
    assert early < late
    chart.get_by_role("link", name="Attention Is All You Need").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Record")).to_be_visible()
    expect(page.locator(".busy")).to_have_count(0)


def test_the_map_of_one_paper_adds_those_linked_to_it(open_page: Any, url: str) -> None:
    page, _ = open_page(url, "/?view=map&id=fx:1&id=fx:2&id=fx:3")
    chart = page.get_by_role("group", name="Map of")
    expect(chart.locator(".node.given")).to_have_count(3)
    assert chart.locator(".node").count() >= 3
    lines = chart.locator("line.cites title, line.alike title").all_text_contents()
    assert all("cites" in line or "share" in line for line in lines)


def test_the_map_of_the_library_is_reached_from_its_view(open_page: Any, url: str) -> None:
    page, _ = open_page(url, "/?view=library")
    page.get_by_role("link", name="Map of the library").click()
    chart = page.get_by_role("img", name="Works by year and community")
    expect(chart).to_be_visible()
    assert chart.evaluate("image => image.naturalWidth") > 100
    expect(page.get_by_role("heading", name="Gaps")).to_be_visible()
    page.locator("main ol a").first.click()
    expect(page.get_by_role("heading", name="Record")).to_be_visible()
