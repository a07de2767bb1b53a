"""Which fields of study a question belongs to, and which sources are asked about them.

A source without fields of its own is asked about everything. Where no field is recognised, and
where the fields would leave no source, every allowed one is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from citewell.model.titles import normalise_title

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
"""Beginnings of words; one of four letters or fewer is a whole word."""
LEAST = 2
"""Words of a field that recognise it."""
PART = 0.5
"""Share of the words of the strongest field that another one needs."""


def fields_of(texts: Iterable[str]) -> frozenset[Field]:
    """The fields that the words of some texts point to; each text counts a field's word once."""
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
    """The names of the sources to ask, of those available with their own fields."""
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
"""Words of the question form, and words that any question may have."""


def keywords_of(text: str, most: int, shares: Sequence[float] | None = None) -> str:
    """The `most` telling words of a question in its order; all of it where `most` is 0.

    `shares` gives for each distinct word of `words_of(text)` how common it is: the rarest are kept.
    Without it the first ones are.
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
    """The distinct words of a question that name its topic."""
    words = normalise_title(text[:2000]).split()
    return [word for word in dict.fromkeys(words) if len(word) > 2 and word not in _PLAIN]
