"""The sources by name. A new one is a module in `adapters` and a line here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from citewell.model import Problem
from citewell.sources.contract import Source

SOURCES: dict[str, str] = {
    "crossref": "crossref:Crossref",
    "openalex": "openalex:OpenAlex",
    "semantic-scholar": "semantic_scholar:SemanticScholar",
    "arxiv": "arxiv:Arxiv",
    "dblp": "dblp:Dblp",
    "datacite": "datacite:DataCite",
    "pubmed": "pubmed:PubMed",
    "openreview": "openreview:OpenReview",
    "doi": "doi:DoiOrg",
}
"""Name -> module and class, in the order in which users see them."""
DOWNLOADS = ("acl-anthology",)
"""Names that the setting takes as well: places that works are only fetched from in bulk."""
ALL = "all"
"""Stands for every source in `sources.allow`."""
SUGGESTED = ("crossref", "arxiv", "dblp", "datacite", "doi")
"""What the editor offers: free, without a key, and strong in verifying references."""


def source_named(name: str) -> type[Source]:
    """The class of a source."""
    module, _, kind = SOURCES[name].partition(":")
    found: type[Source] = getattr(import_module(f"citewell.sources.adapters.{module}"), kind)
    return found


def allowed(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    """The sources that a setting allows, in the registry's order, and what it names wrongly."""
    asked = [name.strip().lower().replace("_", "-") for name in names if name.strip()]
    found = set(SOURCES) if ALL in asked else {name for name in asked if name in SOURCES}
    unknown = [name for name in asked if name not in (*SOURCES, *DOWNLOADS, ALL)]
    problems = tuple(
        Problem(
            "sources-unknown",
            f"Unknown source {name!r}.",
            f"`sources.allow` accepts {', '.join((*SOURCES, *DOWNLOADS))}, or all.",
        )
        for name in unknown
    )
    return tuple(name for name in SOURCES if name in found), problems


def may_download(names: Iterable[str], name: str) -> bool:
    """Whether a setting allows works to be fetched in bulk from a source."""
    asked = {one.strip().lower().replace("_", "-") for one in names}
    return ALL in asked or name in asked


def classes(names: Sequence[str]) -> list[type[Source]]:
    """The classes of some sources."""
    return [source_named(name) for name in names]
