"""The methods that can be measured: the engine as it is set, and the same with parts changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from citewell.engine.contract import Tier
from citewell.features.text.evidence import picks
from citewell.options import Options
from citewell.retrieval import registry
from citewell_lab.evaluation.results import Evaluation, Scope, Setting, problem
from citewell_lab.evaluation.text_baselines import BASELINES as TEXT_BASELINES

BASELINES = ("bm25", "dense")
"""Retrievers that papers compare with, alone and fused."""
RANKERS = ("ranker",)
LATER: dict[str, tuple[str, Any]] = {
    "cross-encoder": ("retrieval.cross_encoder", ""),
    "llm-queries": ("llm.reformulate", False),
    "llm-order": ("llm.rerank", "none"),
    "llm-pick": ("llm.pick", False),
    "llm": ("llm.provider", "none"),
}
"""Parts of an explicit act, and the change that leaves each out of the method `deep`."""
RANKER = "retrieval.ranker"
"""The setting that names the ranker; "none" keeps the order of the fusion."""


class SearchMethod(Struct, frozen=True):
    """A name and the settings that make it, as dotted names over the settings in force."""

    name: str
    description: str
    changes: tuple[tuple[str, Any], ...] = ()
    tier: Tier = "fast"
    picks: bool = False
    """The language model's choice stands first; where it finds none fitting, that counts as
    abstaining."""
    baseline: str = ""
    """One of the text searches of `text_baselines`, which asks no engine."""

    def asks_model(self, base: Options) -> bool:
        """True when a language model is asked for every question."""
        own = self.options(base).llm
        if own.provider == "none" or self.tier != "deep":
            return False
        return self.picks or own.rerank != "none" or own.reformulate

    def options(self, base: Options) -> Options:
        """The settings of this method."""
        for name, value in self.changes:
            base = change(base, name, value)
        return base


def change(options: Options, name: str, value: Any) -> Options:
    """The tree with one leaf changed."""
    section, _, leaf = name.partition(".")
    return replace(options, **{section: replace(getattr(options, section), **{leaf: value})})


def has(options: Options, name: str) -> bool:
    """True when the tree has this leaf."""
    section, _, leaf = name.partition(".")
    return hasattr(getattr(options, section, None), leaf)


def ranker_off(options: Options) -> tuple[tuple[str, Any], ...]:
    """The change that leaves the fused order as it is; nothing where there is no ranker."""
    return ((RANKER, "none"),) if has(options, RANKER) else ()


def _only(options: Options, *names: str) -> tuple[tuple[str, Any], ...]:
    """The change that leaves these retrievers, in the order of the fusion."""
    return (*_switched(options, names), *ranker_off(options))


def _switched(options: Options, names: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """The change that leaves these of the retrievers that have a switch."""
    switches = tuple(
        (f"retrieval.{row.option}", row.option in names)
        for row in registry.rows(options)
        if row.option
    )
    if not options.retrieval.further_encoders:
        return switches
    return (*switches, *_with_encoders(options, names))


def _with_encoders(options: Options, names: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """The change that leaves the encoders of these names beside the static one."""
    kept = tuple(row.encoder for row in registry.rows(options) if row.encoder and row.name in names)
    return (("retrieval.encoders", kept),)


def _switches(options: Options) -> dict[str, str]:
    """Every retriever that the settings can turn off, with the one whose vectors it needs."""
    rows = registry.rows(options)
    return {row.option or row.name: row.needs for row in rows if row.option or row.encoder}


def _public(name: str, options: Options) -> str:
    """The name of a part that may be given by the name of its encoder."""
    encoders = {row.encoder: row.name for row in registry.rows(options) if row.encoder}
    return encoders.get(name, name)


def known(options: Options) -> dict[str, SearchMethod]:
    """Every method by name that these settings allow."""
    off = ranker_off(options)
    both = _switched(options, BASELINES)
    methods = [
        SearchMethod("bm25", "BM25 alone", _only(options, "bm25")),
        SearchMethod("dense", "Dense vectors alone", _only(options, "dense")),
        SearchMethod("rrf", "BM25 and dense, reciprocal rank fusion", (*both, *off)),
        SearchMethod("pipeline", "Citewell as it is set"),
        SearchMethod("full", "Citewell with the time of an explicit act", tier="full"),
        _deep("deep", "Citewell with all that an explicit act asks", (), options),
    ]
    methods += [SearchMethod(name, text, baseline=name) for name, text in TEXT_BASELINES.items()]
    if off:
        methods.insert(3, SearchMethod("ranker", "BM25, dense and the ranker", both))
    methods += _model_methods(options)
    for name, needed in _switches(options).items():
        if needed:
            pair = _only(options, needed, name)
            methods.append(SearchMethod(f"{needed}+{name}", f"{needed} and {name}, fused", pair))
        elif name not in BASELINES:
            methods.append(SearchMethod(name, f"{name} alone", _only(options, name)))
    return {method.name: method for method in methods}


BARE = (("llm.rerank", "none"), ("llm.reformulate", False))
"""Nothing is asked of a language model."""


def _model_methods(options: Options) -> list[SearchMethod]:
    """The methods with a language model, part by part; empty if no model is named."""
    if options.llm.provider == "none":
        return []
    settings = (("llm.rerank", "none"), ("llm.reformulate", True))
    listwise = (("llm.rerank", "listwise"), ("llm.reformulate", False))
    all_of_it = (("llm.rerank", "listwise"), ("llm.reformulate", True))
    return [
        SearchMethod("llm-queries", "The model's other queries too", settings, "deep"),
        SearchMethod("llm-listwise", "The model orders the head in one request", listwise, "deep"),
        SearchMethod("llm-pick", "The model picks the first paper", BARE, "deep", picks=True),
        SearchMethod(
            "llm-all", "Other queries, an order and a pick", all_of_it, "deep", picks=True
        ),
        SearchMethod("without-llm", "Citewell without the language model", BARE, "deep"),
    ]


def _deep(
    name: str, description: str, changes: tuple[tuple[str, Any], ...], options: Options
) -> SearchMethod:
    """An explicit act under changed settings: a model picks in it where one is named and may."""
    changed = SearchMethod(name, description, changes).options(options)
    return SearchMethod(name, description, changes, "deep", bool(picks(changed)))


def gains(chosen: Sequence[SearchMethod]) -> tuple[tuple[str, str], ...]:
    """The comparisons of the parts of a language model: each part with no part."""
    names = [method.name for method in chosen]
    if "without-llm" not in names:
        return ()
    return tuple((name, "without-llm") for name in names if name != "without-llm")


def mode(name: str, options: Options) -> list[SearchMethod]:
    """The methods of a mode: pipeline, baselines, text-baselines, single, all or llm."""
    methods = known(options)
    names = {
        "pipeline": ["pipeline"],
        "single": [one for one in _switches(options) if one in methods],
        "baselines": ["bm25", "dense", "rrf"],
        "text-baselines": [*TEXT_BASELINES, "bm25", "pipeline"],
        "all": ["bm25", "dense", "rrf", "pipeline"],
        "llm": [one.name for one in _model_methods(options)],
    }
    if name not in names:
        raise problem("mode-unknown", f"Unknown mode {name!r}.", f"Known: {', '.join(names)}.")
    if not names[name]:
        raise problem(
            "mode-empty",
            f"The mode {name} has no method.",
            "Name a model: `llm.provider`, `llm.model`.",
        )
    chosen = [methods[one] for one in names[name]]
    if options.retrieval.cross_encoder and name in ("pipeline", "all"):
        chosen.insert(-1, methods["full"])
    return chosen


def named(names: Sequence[str], options: Options) -> list[SearchMethod]:
    """The methods of these names. Raises `EvaluationError` that lists the known ones."""
    methods = known(options)
    out = []
    for given in names:
        name = "+".join(_public(part, options) for part in given.split("+"))
        if name not in methods and name.startswith(("-", "without-")):
            out.append(without(name.removeprefix("without-").removeprefix("-"), options))
        elif name in methods:
            out.append(methods[name])
        else:
            raise problem(
                "method-unknown",
                f"Unknown method {given!r}.",
                f"Known: {', '.join(methods)}, and without-NAME.",
            )
    return out


def without(part: str, options: Options) -> SearchMethod:
    """Citewell as it is set, one retriever or the ranker switched off."""
    part = _public(part, options)
    known = _switches(options)
    encoders = [row.name for row in registry.rows(options) if row.encoder]
    if part in RANKERS and ranker_off(options):
        changes = ranker_off(options)
    elif part in encoders:
        changes = _with_encoders(options, [name for name in encoders if name != part])
    elif part in known:
        changes = ((f"retrieval.{part}", False),)
    elif part in LATER:
        description = f"An explicit act without {part}"
        return _deep(f"without-{part}", description, (LATER[part],), options)
    else:
        parts = [*known, *(RANKERS if ranker_off(options) else ()), *LATER]
        raise problem(
            "part-unknown",
            f"Unknown part {part!r}.",
            f"Known: {', '.join(parts)}.",
        )
    lost = [name for name, needed in known.items() if needed == part]
    also = f" (and {', '.join(lost)}, which needs it)" if lost else ""
    return SearchMethod(f"without-{part}", f"Citewell without {part}{also}", changes)


def distinct(methods: Sequence[SearchMethod], options: Options) -> list[SearchMethod]:
    """The methods whose settings differ, in their order; of equal ones the first name stays.

    "pipeline" gives way: where there is no ranker, it is one of the others under a vaguer name.
    """
    out: list[SearchMethod] = []
    seen: list[tuple[Options, Tier, bool, str]] = []
    for method in methods:
        what = (method.options(options), method.tier, method.picks, method.baseline)
        if what not in seen:
            seen.append(what)
            out.append(method)
    return out


# The plan of an evaluation, and the tables of its report.


class EvaluationPlan(Struct, frozen=True, kw_only=True):
    """The selection and the setting of the questions."""

    methods: tuple[SearchMethod, ...]
    settings: tuple[Setting, ...] = ("cold", "warm")
    depth: int = 100
    limit: int | None = None
    """Sample this many answerable questions at random, and the others in proportion."""
    seed: int = 0
    jobs: int = 1
    latency_calls: int = 100
    threshold: float | None = None
    """The threshold of `fill` that is measured beside the fixed ones; default: the setting's."""
    compare: tuple[tuple[str, str], ...] = ()
    """Pairs of methods, or of `method:setting`; empty: the last method against the others."""
    misses: int = 20
    finds: int = 5
    abstain: bool = True
    """Also ask what the library cannot answer, of methods that state a confidence."""


# The tables of figures that a report shows: over which answers, averaged how.

Mean = Literal["by_question", "by_paper"]


class FigureTable(msgspec.Struct, frozen=True):
    """One table of figures."""

    scope: Scope
    mean: Mean
    title: str


_OF_SCOPE: dict[Scope, str] = {
    "past": "Without papers newer than the citing paper",
    "group": "With the other papers of the same citation counted as right",
    "citation": "Citations of several papers, each answered as a set",
}


def figure_tables(evaluation: Evaluation, *, brief: bool = False) -> Iterator[FigureTable]:
    """The tables that this evaluation has figures for, the main one first.

    `brief`: in the words of an author, without the answers that the library lacks.
    """
    first = (
        "citation whose paper is in the library" if brief else "question (answers in the library)"
    )
    yield FigureTable("library", "by_question", f"Per {first}")
    held = [item for item in evaluation.items if item.held]
    if 1 < len({item.paper for item in held}) < len(held):
        yield FigureTable("library", "by_paper", "Per citing paper")
    if not brief and any(item.held < item.answers for item in evaluation.items):
        title = "All answers, including those not in the library"
        yield FigureTable("all", "by_question", title)
    for scope, title in _OF_SCOPE.items():
        if any(run.figure("mrr", scope) for run in evaluation.runs):
            yield FigureTable(scope, "by_question", title)
