"""How well references are checked: what is caught, who is accused falsely, what is not found."""

from __future__ import annotations

import datetime
import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from citewell import __version__
from citewell.evaluation.results import DataInfo
from citewell.model.check import Check, LabelledReference, Verdict
from citewell.verification.checker import Checker

Half = Literal["tuning", "reporting"]
_SILENT = frozenset({Verdict.NOT_FOUND, Verdict.UNCHECKED})
_ACCUSED = frozenset({Verdict.FABRICATED, Verdict.WRONG_DETAIL})


class Rates(msgspec.Struct, frozen=True):
    """One way of counting. Positive: the reference is not valid, or is flagged."""

    flagged_right: int
    flagged_wrong: int
    missed: int
    passed: int
    """Valid and not flagged."""
    detection: float
    false_positive_rate: float
    precision: float
    f1: float
    mcc: float
    detection_interval: tuple[float, float]
    """Wilson, 95%."""
    false_positive_interval: tuple[float, float]


class KindFigures(msgspec.Struct, frozen=True):
    """The references of one kind ("valid", "swapped_authors" ...)."""

    references: int
    verdicts: dict[str, int]
    flagged: float
    """Share accused: fabricated or wrong in a detail."""
    flagged_strict: float
    """Share accused or not found."""
    flagged_interval: tuple[float, float]
    flagged_strict_interval: tuple[float, float]
    """Wilson, 95%."""
    known: int
    """References whose work the library holds, as far as the check says."""
    flagged_of_known: float


class Part(msgspec.Struct, frozen=True):
    """The figures of all references or of one half."""

    references: int
    abstaining: Rates
    strict: Rates
    kinds: dict[str, KindFigures]


class JudgedReference(msgspec.Struct, frozen=True):
    id: str
    kind: str
    verdict: Verdict
    confidence: float
    findings: tuple[str, ...] = ()
    work: str = ""
    half: Half = "reporting"


class ReferenceEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """The whole result, as `citewell eval --json` writes it."""

    version: str
    created: str
    data: DataInfo
    library: str
    works: int
    seconds: float
    parts: dict[str, Part]
    """"all", "tuning", "reporting"; halves are missing when one of them was asked for."""
    judged: tuple[JudgedReference, ...]


def half_of(identifier: str) -> Half:
    """The half that a reference belongs to, by a hash of its id: stable for every data set."""
    even = int(hashlib.sha256(identifier.encode()).hexdigest(), 16) % 2 == 0
    return "tuning" if even else "reporting"


def evaluate_references(
    references: Sequence[LabelledReference],
    checker: Checker,
    info: DataInfo,
    *,
    library: str = "",
    works: int = 0,
    progress: Callable[[int], None] | None = None,
) -> ReferenceEvaluation:
    """Check every reference and count."""
    begin = time.perf_counter()
    checks = checker.check([reference.claim for reference in references], progress)
    seconds = time.perf_counter() - begin
    pairs = list(zip(references, checks, strict=True))
    halves = {
        name: [pair for pair in pairs if half_of(pair[0].id) == name]
        for name in ("tuning", "reporting")
    }
    parts = {"all": _part(pairs)}
    if all(halves.values()):
        parts |= {name: _part(members) for name, members in halves.items()}
    return ReferenceEvaluation(
        version=__version__,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        data=info,
        library=library,
        works=works,
        seconds=round(seconds, 2),
        parts=parts,
        judged=tuple(_judged(reference, check) for reference, check in pairs),
    )


def _judged(reference: LabelledReference, check: Check) -> JudgedReference:
    return JudgedReference(
        id=reference.id,
        kind=reference.kind,
        verdict=check.verdict,
        confidence=check.confidence,
        findings=tuple(one.code for one in check.findings),
        work=check.work.id if check.work is not None else "",
        half=half_of(reference.id),
    )


Pair = tuple[LabelledReference, Check]


def _part(pairs: Sequence[Pair]) -> Part:
    kinds: dict[str, list[Check]] = {}
    for reference, check in pairs:
        kinds.setdefault(reference.kind, []).append(check)
    return Part(
        references=len(pairs),
        abstaining=rates((r.valid, c.verdict in _ACCUSED) for r, c in pairs),
        strict=rates((r.valid, c.verdict is not Verdict.VERIFIED) for r, c in pairs),
        kinds={kind: _kind(kinds[kind]) for kind in sorted(kinds, key=lambda k: (k != "valid", k))},
    )


def _kind(checks: Sequence[Check]) -> KindFigures:
    count = Counter(check.verdict for check in checks)
    accused = sum(count[verdict] for verdict in _ACCUSED)
    known = [check for check in checks if check.verdict not in _SILENT]
    return KindFigures(
        references=len(checks),
        verdicts={verdict.value: count[verdict] for verdict in Verdict if count[verdict]},
        flagged=accused / len(checks),
        flagged_strict=1 - count[Verdict.VERIFIED] / len(checks),
        flagged_interval=wilson(accused, len(checks)),
        flagged_strict_interval=wilson(len(checks) - count[Verdict.VERIFIED], len(checks)),
        known=len(known),
        flagged_of_known=accused / len(known) if known else 0.0,
    )


def rates(judged: Iterable[tuple[bool, bool]]) -> Rates:
    """The figures of pairs (valid, flagged). An empty class gives zero, never a division."""
    count = Counter(judged)
    right, missed = count[False, True], count[False, False]
    wrong, passed = count[True, True], count[True, False]
    detection = right / (right + missed) if right + missed else 0.0
    precision = right / (right + wrong) if right + wrong else 0.0
    harmonic = 2 * right + wrong + missed
    product = (right + wrong) * (right + missed) * (passed + wrong) * (passed + missed)
    return Rates(
        flagged_right=right,
        flagged_wrong=wrong,
        missed=missed,
        passed=passed,
        detection=detection,
        false_positive_rate=wrong / (wrong + passed) if wrong + passed else 0.0,
        precision=precision,
        f1=2 * right / harmonic if harmonic else 0.0,
        mcc=(right * passed - wrong * missed) / math.sqrt(product) if product else 0.0,
        detection_interval=wilson(right, right + missed),
        false_positive_interval=wilson(wrong, wrong + passed),
    )


def wilson(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share (Wilson 1927); (0, 1) when nothing was counted."""
    if not n:
        return 0.0, 1.0
    share = hits / n
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
