"""A literature search as a page of its own: the list with reasons, the passes, and the overview.

It holds no script and loads nothing. Everything that a record or the question holds is escaped.
"""

from __future__ import annotations

import datetime
import html
from collections.abc import Sequence

from citewell import __version__
from citewell.features.checking.page import POLICY
from citewell.features.text.evidence import understood_text
from citewell.features.text.overview import NOTHING_QUOTED
from citewell.model import Work
from citewell.model.overview import CitedSentence, Overview
from citewell.usecases.explore.contract import Exploration, ExploredWork, ExploreQuery, Pass
from citewell.usecases.explore.export import reason_text

_STYLE = """
:root{color-scheme:light dark;font-family:system-ui,sans-serif;line-height:1.5}
body{max-width:54rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{line-height:1.2}h3{margin:.2rem 0;font-size:1.05rem}p{margin:.3rem 0}
ol.papers{padding-left:2.4rem}ol.papers>li{margin:1.2rem 0;break-inside:avoid}
li:target{outline:.15rem solid;outline-offset:.4rem}
small,.reasons{opacity:.8}.retracted{color:#c0392b;font-weight:bold}
blockquote{margin:.4rem 0;padding-left:.8rem;border-left:.25rem solid #8888}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.6rem 0}
th,td{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top}
td.number,th.number{text-align:right;white-space:nowrap}
summary{cursor:pointer;margin:.4rem 0}
a:focus-visible,summary:focus-visible{outline:.15rem solid;outline-offset:.15rem}
@media(prefers-color-scheme:dark){.retracted{color:#ff8a7a}}
@media print{body{margin:0}a{color:inherit}}
"""
_NUMBERS = ("found", "new in the list", "new among the first 50", "not listed")


def to_html(
    request: ExploreQuery, found: Exploration, papers: Sequence[ExploredWork], library: str
) -> str:
    """The page of a search; `papers` are those to list, and `library` names what was searched."""
    place: dict[str, int] = {}
    for rank, paper in enumerate(papers, start=1):
        place |= {work.id: rank for work in (paper.work, *paper.editions)}
    name = _title(request)
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    facts = [
        f"{len(papers):,} papers, listed by Citewell {_text(__version__)} on {day}.",
        f"Library: {_text(library)}, snapshot {_text(found.snapshot)}.",
    ]
    if understood := understood_text(found.understood):
        facts.append(f"Understood: {_text(understood)}.")
    problems = "".join(f"<p>{_text(one.message)} {_text(one.hint)}</p>" for one in found.problems)
    parts = [_overview(found.overview, place), _papers(papers), _passes(found.passes)]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>\n"
        f"<body><header><h1>{name}</h1><p>{' '.join(facts)}</p>{problems}</header>\n"
        f"<main>{''.join(parts)}</main></body></html>\n"
    )


def _title(request: ExploreQuery) -> str:
    words = " ".join(request.text.split())
    filters = [
        f"{label} {value}"
        for label, value in (
            ("author", request.author), ("venue", request.venue),
            ("from", request.year_from), ("until", request.year_to),
        )
        if value
    ]  # fmt: skip
    return _text("; ".join(part for part in (words, *filters) if part) or "Papers like those kept")


def _papers(papers: Sequence[ExploredWork]) -> str:
    if not papers:
        return "<h2>Papers</h2><p>No papers found.</p>\n"
    rows = "".join(_paper(rank, one) for rank, one in enumerate(papers, start=1))
    return f'<h2>Papers</h2>\n<ol class="papers">{rows}</ol>\n'


def _paper(rank: int, paper: ExploredWork) -> str:
    work = paper.work
    authors = ", ".join(author.display for author in work.authors)
    where = work.venue or work.booktitle or work.journal or work.publisher
    facts = " · ".join(_text(str(one)) for one in (authors, work.year or "", where) if one)
    retracted = ' <span class="retracted">retracted</span>' if work.retracted else ""
    judged = "" if paper.relevance is None else f"relevance {paper.relevance:.2f}, "
    editions = ""
    if paper.editions:
        ids = ", ".join(f"<code>{_text(one.id)}</code>" for one in paper.editions)
        editions = f"<p><small>Other editions: {ids}</small></p>"
    abstract = ""
    if work.abstract:
        abstract = f"<details><summary>Abstract</summary><p>{_text(work.abstract)}</p></details>"
    return (
        f'<li id="paper-{rank}"><h3>{_linked(work)}{retracted}</h3><p>{facts}</p>'
        f'<p class="reasons"><small><code>{_text(work.id)}</code> {judged}because: '
        f"{_text(reason_text(paper))}</small></p>{editions}{abstract}</li>\n"
    )


def _linked(work: Work) -> str:
    """The title, with a link where the record has an address that a browser opens."""
    address = f"https://doi.org/{work.doi}" if work.doi else work.url
    if not address and work.arxiv:
        address = f"https://arxiv.org/abs/{work.arxiv}"
    title = _text(work.title or work.id)
    if not address.startswith(("https://", "http://")):
        return title
    return f'<a href="{_text(address)}" rel="noreferrer">{title}</a>'


def _passes(passes: Sequence[Pass]) -> str:
    heads = "".join(f'<th scope="col" class="number">{name}</th>' for name in _NUMBERS)
    rows = []
    for one in passes:
        name = one.name + (f" (round {one.round})" if one.round > 1 else "")
        numbers = "".join(
            f'<td class="number">{value:,}</td>'
            for value in (one.found, one.added, one.entered, one.cut)
        )
        items = "".join(f"<li>{_text(query)}</li>" for query in one.queries)
        queries = f"<details><summary>{len(one.queries)}</summary><ul>{items}</ul></details>"
        rows.append(f'<tr><th scope="row">{name}</th>{numbers}<td>{queries}</td></tr>')
    return (
        '<h2>Passes</h2>\n<div class="wide"><table><thead><tr><th scope="col">pass</th>'
        f'{heads}<th scope="col">questions</th></tr></thead><tbody>{"".join(rows)}</tbody>'
        "</table></div>\n"
    )


def _overview(overview: Overview | None, place: dict[str, int]) -> str:
    """The text of the model, if there is one, and the themes; each sentence leads to its papers."""
    if overview is None or not (overview.themes or overview.summary):
        return ""
    parts = ["<h2>Overview</h2>\n"]
    summary = overview.summary
    if summary is not None and summary.sentences:
        written = " ".join(_sentence(one, place) for one in summary.sentences)
        parts.append(
            f"<p>{written}</p><p><small>Written by {_text(summary.model)} "
            f"({_text(summary.program)}); every sentence is supported by an abstract.</small></p>\n"
        )
    for theme in overview.themes:
        name = _text(", ".join(theme.words) or "others")
        items = "".join(f"<li>{_sentence(one, place)}</li>" for one in theme.sentences)
        quoted = f"<ul>{items}</ul>" if items else f"<p>{NOTHING_QUOTED}</p>"
        links = " ".join(_link(name, place) for name in theme.ids)
        parts.append(
            f"<h3>{name} ({len(theme.ids)})</h3>{quoted}<p><small>Papers: {links}</small></p>\n"
        )
    return f"<section>{''.join(parts)}</section>\n"


def _sentence(sentence: CitedSentence, place: dict[str, int]) -> str:
    return f"{_text(sentence.text)} {' '.join(_link(name, place) for name in sentence.ids)}"


def _link(name: str, place: dict[str, int]) -> str:
    """The number of a paper in the list, as a link to it; its id where it is not listed."""
    rank = place.get(name)
    if rank is None:
        return f"<code>{_text(name)}</code>"
    return f'<a href="#paper-{rank}" title="{_text(name)}">[{rank}]</a>'


def _text(text: str) -> str:
    return html.escape(text, quote=True)
