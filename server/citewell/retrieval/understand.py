"""From an author's passage to weighted words, names, years and acronyms for the retrievers.

The weights were measured: words weigh less with distance from the citation, the words typed inside
the placeholder weigh most, and the citing paper's own title helps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec

from citewell.documents.prose import acronyms_in, written_out
from citewell.model.languages import STOPWORDS
from citewell.model.query import MARK, OTHER, Query
from citewell.retrieval.words import split

MAX_WORDS = 400
"""Maximum number of words read from one part of the text; a pasted file may have more."""


class Weights(msgspec.Struct, frozen=True):
    """The weight of each part of a query in BM25. The defaults are tuned on training papers."""

    text: float = 2.5
    """The words typed inside the placeholder."""
    left: float = 1.0
    right: float = 0.7
    """Words of the citing sentence before and after the mark, times the decay."""
    tau: float = 18.0
    """Distance in words at which a word's weight has fallen to 1/e."""
    floor: float = 0.3
    """The minimum decay inside the citing sentence."""
    before: float = 0.15
    """The previous sentence, times its share by distance."""
    title: float = 0.3
    abstract: float = 0.05
    section: float = 0.1
    name: float = 2.0
    """A surname that the sentence cites."""
    acronym: float = 2.0
    """A name such as BERT, looked up as a title that begins "BERT:"."""
    year: float = 0.6


class Wanted(msgspec.Struct, frozen=True):
    """Weighted items to look up."""

    words: dict[str, float]
    names: dict[str, float]
    """Surnames, folded."""
    acronyms: dict[str, float]
    """Possible first names of a title, folded, with blanks between their words."""
    years: dict[int, float]


_SPACE = re.compile(r"\s+")
_MARKS = re.compile(re.escape(MARK) + "|" + re.escape(OTHER))
_YEAR = re.compile(r"(?<![\d.])(19[5-9]\d|20[0-3]\d)(?![\d.]*\d)")
_CITED_NAME = re.compile(
    r"([^\W\d_][\w'’-]+)(?:\s+et\s+al\b\.?|'s\b|\s*(?:,|\()\s*(?:19|20)\d\d|"
    r"\s+(?:and|&)\s+([^\W\d_][\w'’-]+)(?=\s*(?:\(|,|\[|19|20)))"
)
_ACRONYM = re.compile(r"[^\W_]*[A-Z][^\W_]*(?:[-+][^\W_]+)*")


def plain(text: str) -> str:
    """The text without citation marks, in one line."""
    return _SPACE.sub(" ", _MARKS.sub(" ", text)).strip()


def near_text(query: Query) -> str:
    """The text nearest to the citation: the typed words and the citing sentence."""
    return " ".join(part for part in (query.text, plain(query.sentence)) if part)


def wanted(query: Query, weights: Weights | None = None) -> Wanted:
    """The weighted words, names, acronyms and years of a query; all empty for an empty query."""
    w = weights or Weights()
    words: dict[str, float] = {}
    names: dict[str, float] = {}
    acronyms: dict[str, float] = {}
    years: dict[int, float] = {}
    if query.text:
        _count(words, query.text, w.text)
        for word in split(query.text)[:MAX_WORDS]:
            _most(names, word.decode(), w.text * 0.6)
        _find_acronyms(acronyms, query.text, w.acronym, any_case=True)
        for year in _YEAR.findall(query.text):
            years[int(year)] = w.text
    quiet = 0.4 if query.text else 1.0
    left, mark, right = query.sentence.partition(MARK)
    if not mark:
        _count(words, plain(query.sentence), w.left * quiet)
    else:
        _decay(words, split(plain(left))[::-1], w.left * quiet, w)
        _decay(words, split(plain(right)), w.right * quiet, w)
    cited: dict[str, float] = {}
    _find_names(cited, query.sentence, w.name * quiet)
    for surname, weight in cited.items():
        words.pop(surname, None)  # "Long" in "Long et al." is no length
        _most(names, surname, weight)
    _find_acronyms(acronyms, left[-200:], w.acronym * quiet)
    for year in _YEAR.findall(query.sentence):
        years.setdefault(int(year), w.year * quiet)
    for distance, sentence in enumerate(reversed(query.before[-3:]), 1):
        _count(words, plain(sentence), w.before * quiet / distance)
    _count(words, query.paper.title, w.title * quiet)
    _count(words, query.paper.abstract, w.abstract * quiet)
    _count(words, query.section, w.section * quiet)
    for name in split(query.author):
        _most(names, name.decode(), 2 * w.name)
    return Wanted(words, names, acronyms, years)


def _count(words: dict[str, float], text: str, weight: float) -> None:
    """Add the weight for each occurrence."""
    if weight <= 0:
        return
    for word in _telling(text):
        words[word] = words.get(word, 0.0) + weight


@lru_cache(maxsize=64)
def _telling(text: str) -> tuple[str, ...]:
    """The words of a text without function words. The last texts are cached: the text around a
    placeholder stays the same while an author types."""
    words = split(text)[:MAX_WORDS]
    return tuple(word.decode() for word in words if len(word) > 1 and word not in STOPWORDS)


def _decay(words: dict[str, float], run: list[bytes], weight: float, w: Weights) -> None:
    factor = 2.718281828459045 ** (-1.0 / w.tau)
    share = 1.0
    for word in run[:MAX_WORDS]:
        if len(word) > 1 and word not in STOPWORDS:
            key = word.decode()
            words[key] = words.get(key, 0.0) + weight * max(share, w.floor)
        share *= factor


def _most(found: dict[str, float], key: str, weight: float) -> None:
    if len(key) > 1 and key.encode() not in STOPWORDS:
        found[key] = max(found.get(key, 0.0), weight)


def _find_names(names: dict[str, float], text: str, weight: float) -> None:
    for first, second in _CITED_NAME.findall(text):
        for name in (first, second):
            if name and name[0].isupper():
                for part in split(name):
                    _most(names, part.decode(), weight)


def _find_acronyms(
    found: dict[str, float], text: str, weight: float, any_case: bool = False
) -> None:
    """Find names with two capitals or a digit ("BERT", "RoBERTa", "GPT-2"), the nearest
    strongest."""
    candidates = text.split() if any_case else _ACRONYM.findall(plain(text))
    for distance, name in enumerate(reversed(candidates[-20:])):
        capitals = sum(character.isupper() for character in name)
        shaped = capitals >= 2 or (capitals and any(c.isdigit() for c in name))
        if any_case or shaped:
            key = b" ".join(split(name)).decode()
            _most(found, key, weight * max(0.3, 0.85**distance))


def title_name(title: str) -> str:
    """The name before a title's colon ("BERT: Pre-training ..."), folded, or ""."""
    head, colon, rest = title.partition(":")
    if not colon or not rest.strip() or len(head) > 40:
        return ""
    parts = split(head)
    return b" ".join(parts).decode() if 0 < len(parts) <= 3 else ""


# Further queries for the same place, by rules: expanded acronyms, distinctive words alone, and for
# typed words alone the terms that papers use.
#
# A word is specific to a degree between 0 (in at least one title of a hundred) and 1 (in at most
# one of ten thousand), linear in the logarithm of its share of the library's titles. The keyword
# query keeps the words with a positive degree, and repeats the most specific ones: retrievers weigh
# repetition.

VAGUE = 1e-2
"""Share of titles above which a word is not specific."""
SPECIFIC = 1e-4
"""Share of titles below which a word is fully specific."""
KEYWORDS = 12
TWICE = 0.75
"""Minimum specificity of a keyword that is repeated in the query."""

ACRONYMS = {
    short: long
    for short, _, long in (
        line.strip().partition(" ")
        for line in """
        AMR abstract meaning representation
        ASR automatic speech recognition
        BERT bidirectional encoder representations from transformers
        CNN convolutional neural network
        CRF conditional random field
        DP differential privacy
        EEG electroencephalography
        GAN generative adversarial network
        GCN graph convolutional network
        GNN graph neural network
        GWAS genome wide association study
        HCI human computer interaction
        HMM hidden Markov model
        ICL in context learning
        LDA latent Dirichlet allocation
        LLM large language model
        LLMS large language models
        LSTM long short term memory
        MCMC Markov chain Monte Carlo
        MDP Markov decision process
        MOE mixture of experts
        MRI magnetic resonance imaging
        NAS neural architecture search
        NER named entity recognition
        NERF neural radiance field
        NLI natural language inference
        NLP natural language processing
        NMT neural machine translation
        OCR optical character recognition
        ODE ordinary differential equation
        PCA principal component analysis
        PDE partial differential equation
        PEFT parameter efficient fine tuning
        PPO proximal policy optimization
        QA question answering
        RAG retrieval augmented generation
        RCT randomized controlled trial
        RL reinforcement learning
        RLHF reinforcement learning from human feedback
        RNN recurrent neural network
        SGD stochastic gradient descent
        SLAM simultaneous localization and mapping
        SMT statistical machine translation
        SRL semantic role labeling
        SVM support vector machine
        TTS text to speech
        VAE variational autoencoder
        VLM vision language model
        VQA visual question answering
        WSD word sense disambiguation
        """.strip().splitlines()
    )
}
"""Long forms of acronyms that are typed without a text that explains them."""
_LEAST_WORDS = 3
_QUESTION = re.compile(
    r"^(?:(?:how|what|which|why|when|where) (?:do|does|did|can|could|should|to|is|are|was|were)|"
    r"(?:can|could|is|are|does|do) (?:there |we |you |i )?|what|which)\s+"
    r"(?:(?:i|we|you|one|people|the|best ways? to|there)\s+)*",
    re.IGNORECASE,
)
"""The beginning of a question."""
_TERMS = tuple(
    (re.compile(rf"\b{plain_words}\b", re.IGNORECASE), term)
    for plain_words, term in (
        (r"(?:make|making) (.{3,40}?) (?:smaller|lighter)", r"compression of \1"),
        (r"(?:make|making) (.{3,40}?) (?:faster|cheaper)", r"efficient \1"),
        (r"(?:make|making) (.{3,40}?) (?:fairer|less biased)", r"bias mitigation in \1"),
        (r"(?:make|making) (.{3,40}?) (?:safer|safe)", r"safety of \1"),
        (r"(?:make|making) things up", "hallucination"),
        (r"ma(?:ke|king) (.{3,40}?) (?:better|more accurate)", r"improving \1"),
        (r"fake news", "misinformation detection"),
        (r"chat ?bots?", "dialogue systems"),
        (r"little (?:training )?data", "low resource few shot learning"),
        (r"(?:without|no) (?:labels|labelled data|labeled data)", "unsupervised learning"),
        (r"self[- ]driving cars?", "autonomous driving"),
    )
)
"""Everyday words, and the terms of papers for them."""

Shares = Callable[[Sequence[str]], Sequence[float]]
"""Maps words to their shares of the library's titles."""


def specificity(share: float) -> float:
    """Degree in [0, 1] to which a word with this share of titles is specific."""
    if share <= SPECIFIC:
        return 1.0
    if share >= VAGUE:
        return 0.0
    return math.log(VAGUE / share) / math.log(VAGUE / SPECIFIC)


def variants(query: Query, shares: Shares) -> list[Query]:
    """The further queries; none if they would be equal to the first."""
    made = (_written_out(query), _in_terms(query), _keywords(query, shares))
    return [one for one in made if one is not None and one != query]


def _written_out(query: Query) -> Query | None:
    """The passage with the long forms of its acronyms appended."""
    text, sentence = query.text, query.sentence
    known = query.acronyms
    if not known and (names := acronyms_in(f"{text} {sentence}")):
        known = written_out(" ".join((query.paper.abstract, *query.before, sentence)), names)
    if not sentence:
        named = {short for short, _ in known}
        bare = (word.strip("()[],.;:?") for word in text.split())
        long_forms = ((word, ACRONYMS.get(word.upper(), "")) for word in bare)
        known = (*known, *(one for one in long_forms if one[1] and one[0] not in named))
    for short, long in known:
        text = _expanded(text, short, long)
        sentence = _expanded(sentence, short, long)
    if (text, sentence) == (query.text, query.sentence):
        return None
    return msgspec.structs.replace(query, text=text, sentence=sentence)


def _expanded(text: str, short: str, long: str) -> str:
    if long.lower() in text.lower():
        return text
    words = text.split(" ")
    for place, word in enumerate(words):
        if word.strip("()[],.;:?") == short:
            words[place] = f"{word} {long}"
            return " ".join(words)
    return text


def _in_terms(query: Query) -> Query | None:
    """The typed words without the form of a question, in the terms of papers."""
    if query.sentence or len(query.text.split()) < _LEAST_WORDS:
        return None
    text = _QUESTION.sub("", query.text).strip(" ?.")
    for pattern, term in _TERMS:
        text = pattern.sub(term, text)
    return msgspec.structs.replace(query, text=text) if text and text != query.text else None


def _keywords(query: Query, shares: Shares) -> Query | None:
    """The specific words of the citing sentence and the previous one."""
    prose = plain(" ".join((*query.before[-1:], query.sentence)))
    words = [
        word.decode()
        for word in dict.fromkeys(split(prose))
        if len(word) > 2 and word not in STOPWORDS and not word.isdigit()
    ]
    if len(words) < 4:
        return None
    degrees = [specificity(share) for share in shares(words)]
    ranked = sorted(range(len(words)), key=lambda place: -degrees[place])[:KEYWORDS]
    kept = sorted(place for place in ranked if degrees[place] > 0)
    if not kept:
        return None
    repeated = [words[place] for place in kept]
    repeated += [words[place] for place in kept if degrees[place] >= TWICE]
    return msgspec.structs.replace(
        query, sentence=" ".join(repeated), before=(), after=(), section=""
    )
