"""From a passage to a passage with citations and a bibliography."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

PASSAGE = "Attention alone translates well [CITATION]. Deep networks need residual connections [CITATION]."
BARE = "Recent work has shown that attention alone translates well. We thank our colleagues for the good coffee."


@pytest.fixture
def passage(open_page: Any, url: str) -> Any:
    return open_page(url, "/?view=passage")[0]


def places_of(page: Any, text: str) -> Any:
    page.get_by_label("Paste a passage").fill(text)
    page.get_by_role("button", name="Find citations").click()
    places = page.locator(".place")
    expect(places).to_have_count(2)
    return places


def cite(place: Any, title: str) -> None:
    place.get_by_role("button", name=f"Cite here: {title}").click()


def test_chosen_papers_become_citations_with_their_entries(passage: Any) -> None:
    first, second = places_of(passage, PASSAGE).all()
    expect(first.locator(".quote")).to_contain_text("Attention alone translates well citation.")
    expect(first.locator(".tag").first).to_contain_text("%")
    cite(first, "Attention Is All You Need")
    text = passage.get_by_label("Passage", exact=True)
    expect(text).to_contain_text(
        "[@vaswani2017attention]. Deep networks need residual connections [CITATION]."
    )
    cite(second, "Deep Residual Learning for Image Recognition")
    expect(text).to_contain_text("connections [@he2016deep].")
    bib = passage.get_by_label("Bibliography", exact=True)
    expect(bib).to_contain_text("@inproceedings{vaswani2017attention,")
    expect(bib).to_contain_text("@inproceedings{he2016deep,")
    with passage.expect_download() as saved:
        passage.get_by_role("button", name="Download references.bib").click()
    assert saved.value.path().read_text("utf-8") == bib.text_content()
    passage.get_by_role("button", name="Copy passage").click()
    expect(passage.get_by_role("button", name="Copied")).to_be_visible()
    assert passage.evaluate("navigator.clipboard.readText()") == text.text_content()
    cite(first, "Attention Is All You Need")
    expect(text).to_contain_text("translates well [CITATION].")


def test_a_passage_that_marks_no_place_shows_where_citations_belong(passage: Any) -> None:
    first, second = places_of(passage, BARE).all()
    expect(first).to_contain_text("seldom without a citation")
    expect(second).not_to_contain_text("seldom without a citation")
    expect(second).to_contain_text("probably needs no citation")
    expect(first).not_to_contain_text("probably needs no citation")
    cite(first, "Attention Is All You Need")
    text = passage.get_by_label("Passage", exact=True)
    expect(text).to_have_text(BARE.replace("well.", "well [@vaswani2017attention]."))


def test_the_papers_own_bibliography_gives_its_keys(passage: Any) -> None:
    passage.get_by_text("Your bibliography and options").click()
    passage.get_by_label("The paper's .bib").fill(
        "@inproceedings{mine, title={Attention Is All You Need}, author={Vaswani, Ashish}, year={2017}}"
    )
    passage.get_by_label("Format").select_option("LaTeX")
    first, _ = places_of(passage, PASSAGE).all()
    expect(first).to_contain_text("key mine in your .bib")
    cite(first, "Attention Is All You Need")
    expect(passage.get_by_label("Passage", exact=True)).to_contain_text("\\cite{mine}.")


def test_nothing_of_a_passage_is_stored(passage: Any) -> None:
    places_of(passage, PASSAGE)
    stored = passage.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, location.href])"
    )
    assert "translates" not in stored


def test_text_that_was_not_sent_survives_a_change_of_view(passage: Any) -> None:
    passage.get_by_label("Paste a passage").fill(PASSAGE)
    for view in ("Check", "Search", "Passage"):
        passage.get_by_role("navigation").get_by_role("link", name=view).click()
    field = passage.get_by_label("Paste a passage")
    expect(field).to_have_value(PASSAGE)
    field.press("Control+Enter")
    expect(passage.locator(".place")).to_have_count(2)
