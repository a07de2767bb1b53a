"""The page of a literature search: complete, escaped, well-formed, and without anything that loads."""

from __future__ import annotations

from html.parser import HTMLParser

from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.features.checking.page import POLICY
from citewell.model import Author, Work
from citewell.model.llm import CitedSentence, Overview, Summary, Theme
from citewell.usecases.explore.contract import (
    Exploration,
    ExploredWork,
    ExploreQuery,
    ListingReason,
    Pass,
)
from citewell.usecases.explore.passes import explore
from citewell.usecases.explore.saved import to_html

HOSTILE = "</p><script>alert(1)</script><img src=x onerror=alert(1)> \" ' & `"


class Page(HTMLParser):
    """Fails on a tag that is not closed; collects what a reader and a browser see."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[int] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)
        self.loads += [tag] if tag in {"script", "link", "img", "iframe", "form"} else []
        self.loads += [name for name, _ in attrs if name.startswith("on") or name == "src"]
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name == "href" and value]
        self.headings += [int(tag[1])] if tag in {"h1", "h2", "h3"} else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_search_is_listed_with_reasons_and_passes(orchards: LocalEngine) -> None:
    request = ExploreQuery(text="irrigation of apple orchards since 2001", count=30, overview=True)
    *_, found = explore(orchards, request)
    text = to_html(request, found, found.papers, "/home/me/libraries/default")
    page = Page(text)
    assert not page.loads
    assert f'content="{POLICY}"' in text
    assert [one for one in page.ids if one.startswith("paper-")] == [
        f"paper-{rank}" for rank in range(1, len(found.papers) + 1)
    ]
    # Every link inside the page leads somewhere; the overview names no paper that is not listed.
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert inside and set(inside) <= set(page.ids)
    for one in found.papers:
        assert f"<code>{one.work.id}</code>" in text
        if one.relevance is not None:
            assert f"<code>{one.work.id}</code> relevance {one.relevance:.2f}, because: " in text
    for record in found.passes:
        assert f'<th scope="row">{record.name}</th>' in text
    assert "year: 2001-" in text
    assert found.snapshot in text


def hostile() -> Exploration:
    work = Work(
        id=HOSTILE,
        title=HOSTILE,
        authors=(Author(HOSTILE, HOSTILE),),
        year=2020,
        venue=HOSTILE,
        abstract=HOSTILE,
        url="javascript:alert(1)",
        retracted=True,
    )
    paper = ExploredWork(
        work, (ListingReason("papers", HOSTILE, 1, HOSTILE),), (replace(work, id="b"),)
    )
    sentence = CitedSentence(text=HOSTILE, ids=(HOSTILE, "elsewhere"))
    return Exploration(
        papers=(paper,),
        passes=(Pass(name="search", queries=(HOSTILE,)), Pass(name="papers", round=2)),
        snapshot=HOSTILE,
        overview=Overview(
            themes=(Theme(words=(HOSTILE,), ids=(HOSTILE,), sentences=(sentence,)),),
            summary=Summary(sentences=(sentence,), model=HOSTILE, program=HOSTILE),
        ),
    )


def test_what_a_record_or_the_question_holds_is_text() -> None:
    request = ExploreQuery(text=HOSTILE, author=HOSTILE, venue=HOSTILE)
    text = to_html(request, hostile(), hostile().papers, HOSTILE)
    page = Page(text)
    assert not page.loads
    assert "<script" not in text
    assert all(link.startswith(("#", "https://", "http://")) for link in page.links)
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 10
