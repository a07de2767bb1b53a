"""Quality of the reference checks: errors found, false alarms, and references not found."""

from __future__ import annotations

import datetime
import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from citewell import __version__
from citewell.model.check import INVENTED, Check, Claim, LabelledReference, Verdict
from citewell.verification.checker import Checker
from citewell_lab.evaluation.results import DataInfo

Half = Literal["tuning", "reporting"]
_ACCUSED = INVENTED | {Verdict.WRONG_DETAIL}


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
    tier_weighted_f1: float
    """HALLMARK's: a reference that is not valid weighs as much as its tier (1 to 3, 1 where none is
    given), a valid one 1."""
    calibration_error: float
    """HALLMARK's ECE: |accuracy - confidence| in ten bins of equally many references."""
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
    """References whose title the library holds."""
    flagged_of_known: float


class ReferenceFigures(msgspec.Struct, frozen=True):
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
    parts: dict[str, ReferenceFigures]
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
    claims = [reference.claim for reference in references]
    checks = checker.check(claims, progress)
    seconds = time.perf_counter() - begin
    pairs = [Pair(*each) for each in zip(references, checks, _held(checker, claims), strict=True)]
    halves = {
        name: [pair for pair in pairs if half_of(pair.reference.id) == name]
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
        judged=tuple(_judged(pair.reference, pair.check) for pair in pairs),
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


class Pair(NamedTuple):
    reference: LabelledReference
    check: Check
    held: bool
    """The library holds a work of this title."""


def _held(checker: Checker, claims: Sequence[Claim]) -> list[bool]:
    answers = [records.candidates(claims) for records in checker.records]
    return [any(answer[n].by_title for answer in answers) for n in range(len(claims))]


def _part(pairs: Sequence[Pair]) -> ReferenceFigures:
    kinds: dict[str, list[Pair]] = {}
    for pair in pairs:
        kinds.setdefault(pair.reference.kind, []).append(pair)
    return ReferenceFigures(
        references=len(pairs),
        abstaining=rates([_judgement(pair, pair.check.verdict in _ACCUSED) for pair in pairs]),
        strict=rates(
            [_judgement(pair, pair.check.verdict is not Verdict.VERIFIED) for pair in pairs]
        ),
        kinds={kind: _kind(kinds[kind]) for kind in sorted(kinds, key=lambda k: (k != "valid", k))},
    )


def _judgement(pair: Pair, flagged: bool) -> Judgement:
    reference, check = pair.reference, pair.check
    return Judgement(reference.valid, flagged, reference.tier or 1, check.confidence)


def _kind(pairs: Sequence[Pair]) -> KindFigures:
    count = Counter(pair.check.verdict for pair in pairs)
    accused = sum(count[verdict] for verdict in _ACCUSED)
    known = [pair for pair in pairs if pair.held]
    flagged_known = sum(pair.check.verdict in _ACCUSED for pair in known)
    passed = count[Verdict.VERIFIED]
    return KindFigures(
        references=len(pairs),
        verdicts={verdict.value: count[verdict] for verdict in Verdict if count[verdict]},
        flagged=accused / len(pairs),
        flagged_strict=1 - passed / len(pairs),
        flagged_interval=wilson(accused, len(pairs)),
        flagged_strict_interval=wilson(len(pairs) - passed, len(pairs)),
        known=len(known),
        flagged_of_known=flagged_known / len(known) if known else 0.0,
    )


class Judgement(NamedTuple):
    """One reference as the figures see it."""

    valid: bool
    flagged: bool
    tier: int = 1
    confidence: float = 1.0
    """Confidence in the verdict, from 0 to 1."""


def rates(judged: Sequence[Judgement]) -> Rates:
    """The figures of some references. An empty class gives zero, never a division."""
    count = Counter((one.valid, one.flagged) for one in judged)
    right, missed = count[False, True], count[False, False]
    wrong, passed = count[True, True], count[True, False]
    detection = right / (right + missed) if right + missed else 0.0
    precision = right / (right + wrong) if right + wrong else 0.0
    product = (right + wrong) * (right + missed) * (passed + wrong) * (passed + missed)
    heavy_right = sum(one.tier for one in judged if not one.valid and one.flagged)
    heavy_missed = sum(one.tier for one in judged if not one.valid and not one.flagged)
    return Rates(
        flagged_right=right,
        flagged_wrong=wrong,
        missed=missed,
        passed=passed,
        detection=detection,
        false_positive_rate=wrong / (wrong + passed) if wrong + passed else 0.0,
        precision=precision,
        f1=_f1(right, wrong, missed),
        mcc=(right * passed - wrong * missed) / math.sqrt(product) if product else 0.0,
        tier_weighted_f1=_f1(heavy_right, wrong, heavy_missed),
        calibration_error=calibration_error(judged),
        detection_interval=wilson(right, right + missed),
        false_positive_interval=wilson(wrong, wrong + passed),
    )


def _f1(right: float, wrong: float, missed: float) -> float:
    harmonic = 2 * right + wrong + missed
    return 2 * right / harmonic if harmonic else 0.0


def calibration_error(judged: Sequence[Judgement], bins: int = 10) -> float:
    """Expected calibration error (Guo et al. 2017) over bins of equally many references."""
    ordered = sorted(judged, key=lambda one: one.confidence)
    error, start = 0.0, 0
    for number in range(bins):
        end = start + len(ordered) // bins + (number < len(ordered) % bins)
        part = ordered[start:end]
        right = sum(one.valid is not one.flagged for one in part)
        error += abs(right - sum(one.confidence for one in part))
        start = end
    return error / len(ordered) if ordered else 0.0


def wilson(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share (Wilson 1927); (0, 1) when nothing was counted."""
    if not n:
        return 0.0, 1.0
    share = hits / n
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
