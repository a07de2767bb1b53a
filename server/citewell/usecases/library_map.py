"""A map of a whole library: its communities, key papers, links and gaps, as one picture.

The picture has the years from left to right and a band for each community. It needs no script and
no network.
"""

from __future__ import annotations

import html
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from citewell.engine.contract import Engine
from citewell.features.checking.page import POLICY
from citewell.model import Problem, Work
from citewell.model.languages import STOPWORDS
from citewell.model.names import family_key
from citewell.retrieval.words import split

MOST_WORKS = 5_000
"""Maximum number of works on the map; of a larger library, the most cited ones."""
MOST_COMMUNITIES = 8
KEY_PAPERS = 5
"""Number of key papers of a community."""
NAMED_BY = 3
"""Number of words that name a community."""
MOST_OF_AUTHOR = 40
"""Maximum number of works of an author whose works are linked: more is rather several people."""
WIDTH, HEIGHT, EDGE = 1200, 800, 40
_COLOURS = ("#1f6feb", "#d1495b", "#2a9d5c", "#b8860b", "#7b4fb5", "#0f8b8d", "#c2571a", "#6b7280")


class Community(msgspec.Struct, frozen=True):
    """Works of a library on one subject."""

    words: tuple[str, ...]
    """Words of its titles that those of other communities have less often."""
    works: int
    key_papers: tuple[Work, ...]
    """Those that most works of the library cite, then the most cited ones."""


class Gap(msgspec.Struct, frozen=True):
    """A work that the library's works cite and the library lacks."""

    work: Work
    cited_by: int
    """Number of works of the library that cite it."""


class LibraryMap(msgspec.Struct, frozen=True):
    """The map of a library."""

    works: int = 0
    """Number of works on the map."""
    total: int = 0
    """Number of works of the library."""
    cites: int = 0
    """Number of citations among the works on the map, as far as they are known."""
    coauthors: int = 0
    """Number of links between works by one author."""
    communities: tuple[Community, ...] = ()
    gaps: tuple[Gap, ...] = ()
    picture: str = ""
    """An SVG image without scripts, styles and references."""
    problems: tuple[Problem, ...] = ()


def library_map(engine: Engine, most: int = MOST_WORKS) -> LibraryMap:
    """The map of the engine's library, without libraries below it, at most `most` works."""
    found = engine.library_graph(most)
    works = found.works
    if not works:
        return LibraryMap(problems=found.problems)
    groups = engine.cluster([work.id for work in works], MOST_COMMUNITIES)
    coauthors = _by_one_author(works)
    return LibraryMap(
        works=len(works),
        total=found.total,
        cites=len(found.cites),
        coauthors=len(coauthors),
        communities=_communities(works, groups, found.cited),
        gaps=tuple(Gap(work, count) for work, count in found.gaps),
        picture=_picture(works, groups, found.cited, found.cites, coauthors),
        problems=found.problems,
    )


def _by_one_author(works: Sequence[Work]) -> list[tuple[int, int]]:
    """Each work linked to the next one, by year, of each of its authors, as indices."""
    own: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at in sorted(range(len(works)), key=lambda at: works[at].year or 0):
        for author in works[at].authors:
            if author.given:
                own[family_key(author.family), author.given[:1].lower()].append(at)
    groups = (one for one in own.values() if len(one) <= MOST_OF_AUTHOR)
    return sorted({pair for group in groups for pair in pairwise(group) if pair[0] != pair[1]})


def _communities(
    works: Sequence[Work], groups: Sequence[int], cited: Sequence[int]
) -> tuple[Community, ...]:
    """The communities, the largest first; works without a vector belong to none."""
    words = [{word for word in split(work.title) if len(word) > 2} - STOPWORDS for work in works]
    every = Counter(word for own in words for word in own)
    found = []
    for group, size in Counter(one for one in groups if one >= 0).most_common():
        members = [at for at, one in enumerate(groups) if one == group]
        own = Counter(word for at in members for word in words[at])
        # Words that are frequent here, and more so than elsewhere.
        best = sorted(own, key=lambda word: (-own[word] * own[word] / every[word], word))
        members.sort(key=lambda at: (-cited[at], -(works[at].citations or 0), at))
        found.append(
            Community(
                words=tuple(word.decode() for word in best[:NAMED_BY]),
                works=size,
                key_papers=tuple(works[at] for at in members[:KEY_PAPERS]),
            )
        )
    return tuple(found)


def _picture(
    works: Sequence[Work],
    groups: Sequence[int],
    cited: Sequence[int],
    cites: Sequence[tuple[int, int]],
    coauthors: Sequence[tuple[int, int]],
) -> str:
    order = [group for group, _ in Counter(groups).most_common()]
    years = sorted({work.year or 0 for work in works})
    cells: dict[tuple[int, int], list[int]] = defaultdict(list)
    for at in sorted(range(len(works)), key=lambda at: -cited[at]):
        cells[years.index(works[at].year or 0), order.index(groups[at])].append(at)
    wide = (WIDTH - 2 * EDGE) / len(years)
    high = (HEIGHT - 2 * EDGE) / len(order)
    places: dict[int, tuple[float, float]] = {}
    radius = 6.0
    for (column, row), members in cells.items():
        across = max(1, round(math.sqrt(len(members) * wide / high)))
        down = math.ceil(len(members) / across)
        radius = min(radius, 0.45 * wide / across, 0.45 * high / down)
        for n, at in enumerate(members):
            x = EDGE + wide * (column + (n % across + 0.5) / across)
            places[at] = (x, EDGE + high * (row + (n // across + 0.5) / down))
    most = max(1, *cited)
    circles = []
    for at, (x, y) in places.items():
        size = max(0.8, radius * (0.6 + 0.4 * math.sqrt(cited[at] / most)))
        work, colour = works[at], _COLOURS[order.index(groups[at]) % len(_COLOURS)]
        who = work.authors[0].family if work.authors else ""
        name = html.escape(f"{who} {work.year or ''}: {work.title[:300]}".strip(), quote=True)
        circles.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="{colour}">'
            f"<title>{name}</title></circle>"
        )

    def lines(pairs: Sequence[tuple[int, int]]) -> str:
        ends = ((*places[a], *places[b]) for a, b in pairs)
        return "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends)

    step = math.ceil(len(years) / 16)
    labels = "".join(
        f'<text x="{EDGE + wide * (n + 0.5):.0f}" y="{HEIGHT - 12}" text-anchor="middle" '
        f'font-size="14" fill="#777">{year or "unknown"}</text>'
        for n, year in enumerate(years)
        if n % step == 0
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{len(works)} works by year and community">'
        f'<path d="{lines(coauthors)}" fill="none" stroke="#b8860b" stroke-width="0.4" '
        f'stroke-dasharray="3 2" opacity="0.35"/>'
        f'<path d="{lines(cites)}" fill="none" stroke="#777" stroke-width="0.5" opacity="0.4"/>'
        f"{''.join(circles)}{labels}</svg>"
    )


def to_html(found: LibraryMap, name: str) -> str:
    """The map as one web page; `name` is that of the library."""
    title = html.escape(f"Map of {name}")
    lists = [
        f"<h2>{html.escape(', '.join(one.words))} ({one.works:,} works)</h2><ol>"
        + "".join(f"<li>{_named(work)}</li>" for work in one.key_papers)
        + "</ol>"
        for one in found.communities
    ]
    gaps = "".join(f"<li>{_named(one.work)}, {gap_text(one)}</li>" for one in found.gaps)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<style>body{font:16px/1.5 system-ui,sans-serif;margin:1rem auto;max-width:80rem;"
        "padding:0 1rem;color-scheme:light dark}svg{width:100%;height:auto}</style></head>\n"
        f"<body><h1>{title}</h1><p>{html.escape(summary(found))} Grey lines: citations; dashed "
        "lines: the next work of an author. A larger circle is cited by more works of the library."
        f"</p>{found.picture}\n{''.join(lists)}<h2>Gaps</h2><ul>{gaps or '<li>None known.</li>'}"
        "</ul></body></html>\n"
    )


def summary(found: LibraryMap) -> str:
    """The numbers of the map in a sentence."""
    of = f" of {found.total:,}" if found.total > found.works else ""
    return (
        f"{found.works:,}{of} works, {found.cites:,} known citations among them, "
        f"{found.coauthors:,} links by author."
    )


def gap_text(gap: Gap) -> str:
    """ "cited by 12 of yours, not held"."""
    return f"cited by {gap.cited_by:,} of yours, not held"


def _named(work: Work) -> str:
    authors = ", ".join(author.family for author in work.authors[:3])
    return html.escape(" ".join(f"{work.title}. {authors} {work.year or ''}".split()))
