"""Choices that a program makes for numbered placeholders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from citewell.model import CitewellError, Hit, Problem, SearchResult, Work
from citewell.options import Options
from citewell.usecases.fill import Choose, Place, PlaceholderFill, doubt_of


def chooser(
    places: Sequence[Place],
    chosen: Mapping[str, Work | None],
    options: Options,
    threshold: float | None,
) -> Choose:
    """Takes what was chosen by a placeholder's number, counted from 1, else the best paper if it is
    certain enough; None leaves a place open. Raises `CitewellError` for a number that no
    placeholder has."""
    numbers = {
        (place.document.path, place.placeholder.span.start): str(n)
        for n, place in enumerate(places, 1)
    }
    unknown = sorted(set(chosen) - set(numbers.values()))
    if unknown:
        raise CitewellError(
            Problem(
                "placeholder-unknown",
                f"There is no placeholder {', '.join(unknown)[:200]}.",
                f"They are numbered from 1 to {len(numbers)}; ask without choices first."
                if numbers
                else "The text has none.",
            )
        )

    def choose(found: PlaceholderFill) -> Hit | None:
        n = numbers[found.path, found.placeholder.span.start]
        if n in chosen:
            work = chosen[n]
            return None if work is None else Hit(work, 0.0)
        if found.reason or not found.candidates:
            return None
        return None if doubt_of(found, options, threshold) else found.candidates[0]

    return choose


def why_open(
    found: PlaceholderFill, options: Options, threshold: float | None, *, left: bool
) -> str:
    """Why a placeholder has no paper; `left`: it was chosen to leave it open."""
    if left:
        return "left open, as you chose"
    by_model = found.picked is not None and found.picked.by == "model"
    if not found.candidates or by_model:
        return found.reason or "no paper was found"
    doubt = doubt_of(found, options, threshold)
    return f"{doubt}; choose yourself" if doubt else found.reason


def refuse_failed(results: Sequence[SearchResult]) -> None:
    """A search that could not be made at all is no answer that there are no papers: raises
    `CitewellError`."""
    if results and not any(result.hits for result in results):
        for result in results:
            if result.failed:
                raise CitewellError(result.failed[0])
