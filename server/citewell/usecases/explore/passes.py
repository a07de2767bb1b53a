"""A literature search in passes over an engine: each pass yields the list so far.

The first pass is one search and is yielded at once. The next ones continue from the papers found:
the best papers as references, the best papers as queries, their methods, applications and
limitations, their citations, and the sources.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from citewell.documents.context import split_sentences
from citewell.engine.contract import Engine
from citewell.llm.literature import is_closed
from citewell.model import CitewellError, Work
from citewell.model.cancel import Cancel
from citewell.model.identifiers import identifier_of
from citewell.model.languages import STOPWORDS
from citewell.model.llm import CitedSentence, Overview, Theme
from citewell.retrieval.words import split
from citewell.sources.fields import fields_text
from citewell.usecases.explore.contract import (
    MAX_ROUNDS,
    Ending,
    Exploration,
    ExploreQuery,
    Pass,
    PassName,
    RelevanceJudge,
)
from citewell.usecases.explore.steps import EMPTY, NOTHING_FOUND, Steps

# Themes of a list of papers: distinctive words, and whole sentences of abstracts, without a model.
#
# The words of a theme are more frequent in its papers than in the others: TF-IDF with each theme as
# one document, where a paper counts a word once, so that repetition in an abstract does not matter.

WORDS = 4
SENTENCES = 2
LEAST_PAPERS = 2
"""Minimum number of papers of a theme with a word of its name."""
FEWEST_WORDS, MOST_WORDS = 8, 45
"""In a sentence."""
MAX_ABSTRACT = 6_000
"""Maximum number of characters read of an abstract."""
_VACUOUS = frozenset(
    "com http https www github many much various several similar significant significantly discuss "
    "discussed publicly available non http related widely respectively thus furthermore moreover "
    "called e.g well also et al re specific especially e.g possible able toward towards".split()
)
"""Words that do not describe a theme, alone or in a pair."""
_OF_ABSTRACTS = frozenset(
    "paper papers propose proposed proposes present presents presented study studies show shows "
    "shown showed results result new novel approach approaches method methods based using use used "
    "uses work works task tasks performance problem problems model models data existing recent "
    "however demonstrate demonstrates state art experiments experimental evaluate evaluation "
    "achieve achieves improve improves improved significantly better different large several many "
    "first two three one find provide provides introduce introduces framework known well high low "
    "propose various including often important make available compared effective efficient set "
    "research analysis information et al system systems datasets dataset training learning train "
    "trained able given general simple address challenge challenges challenging "
    "outperforms outperform".split()
)
"""Words common to abstracts, which do not describe a theme alone; in a pair they may."""


def themes(works: Sequence[Work], groups: Sequence[int]) -> tuple[Theme, ...]:
    """The themes of the works, by their groups; the largest first. Works without a group are in
    none."""
    members: dict[int, list[int]] = {}
    for at, group in enumerate(groups):
        if group >= 0:
            members.setdefault(group, []).append(at)
    terms = [_terms(work) for work in works]
    everywhere = Counter(term for own in terms for term in own)
    order = sorted(members.values(), key=lambda own: (-len(own), own[0]))
    return tuple(
        _theme([works[at] for at in own], [terms[at] for at in own], everywhere, len(works))
        for own in order
    )


def _theme(
    works: Sequence[Work], terms: Sequence[dict[str, str]], everywhere: Counter[str], count: int
) -> Theme:
    inside = Counter(term for own in terms for term in own)
    weights: dict[str, float] = {}
    for term, papers in inside.items():
        if papers < min(LEAST_PAPERS, len(works)):
            continue
        share, others = papers / len(works), everywhere[term] - papers
        rest = max(1, count - len(works))
        weights[term] = share * math.log((share + 0.02) / (others / rest + 0.02))
    weights = {term: weight for term, weight in weights.items() if weight > 0}
    return Theme(
        words=_name(weights, terms),
        ids=tuple(work.id for work in works),
        sentences=tuple(_sentences(works, weights)),
    )


def _name(weights: dict[str, float], terms: Sequence[dict[str, str]]) -> tuple[str, ...]:
    """The most distinctive words as spelt in their papers; a pair stands for both of its words."""
    ranked = sorted(weights, key=lambda term: (-weights[term] * (1.3 if " " in term else 1), term))
    chosen: list[str] = []
    for term in ranked:
        parts = set(term.split())
        if len(parts) == 1 and term in _OF_ABSTRACTS:
            continue
        if any(parts & set(one.split()) for one in chosen):
            continue
        chosen.append(term)
        if len(chosen) == WORDS:
            break
    shown = []
    for term in chosen:
        forms = Counter(own[term] for own in terms if term in own)
        shown.append(min(forms, key=lambda form: (-forms[form], form)))
    return tuple(shown)


def _sentences(works: Sequence[Work], weights: dict[str, float]) -> Iterator[CitedSentence]:
    """The sentences with most distinctive words, each from another paper and with new words."""
    found: list[tuple[float, int, str, frozenset[str]]] = []
    for at, work in enumerate(works):
        for sentence in split_sentences(work.abstract[:MAX_ABSTRACT]):
            text = " ".join(sentence.split())
            words = split(text)
            if not FEWEST_WORDS <= len(words) <= MOST_WORDS or not _is_whole(text):
                continue
            own = frozenset(term for term in _terms_of(text) if term in weights)
            score = sum(weights[term] for term in own) / math.sqrt(8 + len(words))
            if own:
                found.append((-score, at, text, own))
    found.sort()
    used: set[int] = set()
    covered: frozenset[str] = frozenset()
    for _, at, text, own in found:
        if len(used) == SENTENCES:
            return
        if at in used or len(own - covered) * 2 < len(own) or not is_closed(text, [works[at]]):
            continue
        used.add(at)
        covered |= own
        yield CitedSentence(text, (works[at].id,))


def _is_whole(text: str) -> bool:
    """Whether it begins and ends like a sentence: abstracts are sometimes truncated."""
    return (
        text[-1] in ".!?" and not text.endswith("...") and (text[0].isupper() or text[0].isdigit())
    )


def _terms(work: Work) -> dict[str, str]:
    """The words and pairs of title and abstract, each with a spelling."""
    return _terms_of(f"{work.title}. {work.abstract[:MAX_ABSTRACT]}")


def _terms_of(text: str) -> dict[str, str]:
    from Stemmer import Stemmer

    stemmer = Stemmer("english")
    out: dict[str, str] = {}
    words = [word.decode() for word in split(text)]
    stems = stemmer.stemWords(words)
    kept = [
        word.encode() not in STOPWORDS
        and word not in _VACUOUS
        and len(word) > 2
        and not word.isdigit()
        for word in words
    ]
    for word, stem, is_telling in zip(words, stems, kept, strict=True):
        if is_telling:
            out.setdefault(stem, word)
    pairs = zip(pairwise(words), pairwise(stems), pairwise(kept), strict=True)
    for (first, second), (one, other), telling in pairs:
        if all(telling) and not (first in _OF_ABSTRACTS and second in _OF_ABSTRACTS):
            out.setdefault(f"{one} {other}", f"{first} {second}")
    return out


# An overview of the first papers of a list: themes by rules, and a text by the language model.

PAPERS = 100
"""Number of papers of a list in an overview."""
MOST_THEMES = 8


def overview(
    engine: Engine,
    works: Sequence[Work],
    cancel: Cancel,
    *,
    question: str = "",
    by_model: bool = False,
) -> Overview:
    """An overview of the first `PAPERS` works; with `by_model`, the language model also summarises
    them for the question. Raises `Cancelled`."""
    head = list(works[:PAPERS])
    if not head:
        return Overview()
    cancel.check()
    most = max(1, min(MOST_THEMES, round(math.sqrt(len(head) / 2))))
    groups = engine.cluster([work.id for work in head], most)
    if all(group < 0 for group in groups):
        groups = [0] * len(head)
    cancel.check()
    written = engine.summarize(question, head, cancel=cancel) if by_model and question else None
    return Overview(themes=themes(head, groups), summary=written)


LITTLE_ENTERED, LITTLE_ADDED = 1, 0.02
"""There is no further round if each pass brought at most this many papers into the first `HEAD`,
and all of them added at most this share of the list."""
MODEL_ROUNDS, RULE_ROUNDS = (1, 2), (2, 3)
"""Rounds with a pass for aspects: at most two, and by rules not in the first one, in which the best
papers as queries find nearly the same."""
ONLINE: frozenset[PassName] = frozenset({"sources", "chains"})
_LATER = ("papers", "aspects", "citations")


def explore(
    engine: Engine,
    request: ExploreQuery,
    *,
    cancel: Cancel | None = None,
    judge: RelevanceJudge | None = None,
) -> Iterator[Exploration]:
    """The list after each pass, best first; `ending` of the last one is not empty. `judge` defaults
    to the shipped one.

    Raises `CitewellError` for an empty request, for an unknown id, and if no search could be made;
    `Cancelled` between and inside passes.
    """
    if not any((request.text.strip(), request.author, request.venue, request.kept)):
        raise CitewellError(EMPTY)
    return _Run(engine, request, cancel or Cancel(), judge).passes()


class _Run:
    """One literature search."""

    def __init__(
        self, engine: Engine, request: ExploreQuery, cancel: Cancel, judge: RelevanceJudge | None
    ) -> None:
        self._engine = engine
        self._request = request
        self._cancel = cancel
        self._steps = Steps(engine, request, cancel, judge)
        self._passes: list[Pass] = []
        self._snapshot = ""

    def passes(self) -> Iterator[Exploration]:
        """The list after each pass."""
        status = self._engine.status()
        self._snapshot = status.snapshot
        steps, found = self._steps, self._steps.found
        steps.asks_model = status.explores and self._request.model
        plan = self._plan()
        offline_over = False
        for number, (name, turn) in enumerate(plan):
            if offline_over and name not in ONLINE:
                continue
            self._cancel.check()
            begin, answers = time.perf_counter(), found.answers
            queries = steps.make(name)
            record = found.changed(
                name,
                turn,
                queries=queries,
                found=found.ids_since(answers),
                understood=steps.understood,
                begin=begin,
            )
            self._passes.append(record)
            rest = [step for step, _ in plan[number + 1 :]]
            if not found.papers and not steps.kept:
                offline_over = True
            # The results of other queries are unknown until they were made once.
            untried = "aspects" in rest and all(one.name != "aspects" for one in self._passes)
            if name == "citations" and self._is_little(turn) and not untried:
                offline_over = True
            ending: Ending = ""
            if offline_over and not found.papers and not steps.problems:
                steps.problems.append(NOTHING_FOUND)
            if not rest:
                ending = "complete"
            elif offline_over and not ONLINE & set(rest):
                ending = "little"
            yield self._state(ending)
            if ending:
                return

    def _plan(self) -> list[tuple[PassName, int]]:
        """The passes with their rounds."""
        query = self._steps.query
        has_words = bool(query.text)
        plan: list[tuple[PassName, int]] = []
        if has_words or query.sentence or query.author or query.venue:
            plan.append(("search", 1))
        if has_words and self._steps.asks_model and identifier_of(query.text) is None:
            plan.append(("reading", 1))
        # Kept papers are starting points of the passes of a round.
        rounds = max(self._request.rounds, 1 if self._request.kept else 0)
        for turn in range(1, min(rounds, MAX_ROUNDS) + 1):
            # A second round of references adds nothing.
            if turn == 1 and has_words and identifier_of(query.text) is None:
                plan.append(("references", 1))
            plan.append(("papers", turn))
            if has_words and turn in (MODEL_ROUNDS if self._steps.asks_model else RULE_ROUNDS):
                plan.append(("aspects", turn))
            plan.append(("citations", turn))
        if self._request.online and has_words:
            plan += [("sources", 1), ("chains", 1)]
        return [step for step in plan if step[0] not in self._request.without]

    def _is_little(self, turn: int) -> bool:
        """Whether the passes of a round changed too little for another one."""
        made = [one for one in self._passes if one.round == turn and one.name in _LATER]
        return all(one.entered <= LITTLE_ENTERED for one in made) and (
            sum(one.added for one in made) <= LITTLE_ADDED * self._steps.found.count
        )

    def _state(self, ending: Ending) -> Exploration:
        steps = self._steps
        own = None
        if ending and self._request.overview:
            works = [one.work for one in steps.found.papers]
            own = overview(
                self._engine,
                works,
                self._cancel,
                question=steps.query.text,
                by_model=steps.asks_model,
            )
            if own.summary is not None and own.summary.problem is not None:
                steps.problems.append(own.summary.problem)
        return Exploration(
            papers=steps.found.papers,
            passes=tuple(self._passes),
            understood=steps.understood,
            field=fields_text(steps.fields),
            ending=ending,
            snapshot=self._snapshot,
            relevant=steps.found.relevant,
            problems=tuple(dict.fromkeys(steps.problems)),
            overview=own,
        )
