"""The configured steps of a search: which parts are on, and how long each took."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from html import escape

import msgspec

from citewell.engine.contract import EngineStatus
from citewell.options import Options
from citewell.retrieval.registry import RetrieverSpec, rows

_CROSS_ENCODER, _MODEL = "cross-encoder", "llm"
"""Names in the timings of a search."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a search."""

    name: str
    """Unique, for the nodes of a graph."""
    title: str
    detail: str = ""
    is_on: bool = True
    milliseconds: float | None = None
    """In the last search; None if it took no part or its time is unknown."""


class Pipeline(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of a search: the retrievers side by side, then one stage after the other."""

    retrievers: tuple[Part, ...]
    stages: tuple[Part, ...]
    sources: Part
    """The sources queried beside the library; their results join the list."""
    total: float | None = None
    """Milliseconds of the last search."""


def pipeline(
    options: Options, status: EngineStatus | None = None, timings: Mapping[str, float] | None = None
) -> Pipeline:
    """The configured steps; with the engine's `status`, the open parts, and with the `timings` of a
    search, the duration of each."""
    spent = timings or {}
    return Pipeline(
        retrievers=tuple(_retriever(row, options, status, spent) for row in rows(options)),
        stages=_stages(options, status, spent),
        sources=_sources(options),
        total=spent.get("total"),
    )


def _retriever(
    row: RetrieverSpec, options: Options, status: EngineStatus | None, spent: Mapping[str, float]
) -> Part:
    is_on = row.is_on(options)
    # Rows without a switch are open if the library has their data.
    if status is not None and status.library:
        is_on = row.name in status.retrievers or row.name in spent or (is_on and row.typed)
    title = row.name.replace("_", " ").replace("bm25", "BM25")
    return Part(
        name=row.name.replace("-", "_").replace(":", "_").replace("/", "_"),
        title=title[:1].upper() + title[1:],
        detail=row.label,
        is_on=is_on,
        milliseconds=spent.get(row.name),
    )


def _stages(
    options: Options, status: EngineStatus | None, spent: Mapping[str, float]
) -> tuple[Part, ...]:
    found, llm = options.retrieval, options.llm
    cross = found.cross_encoder.rpartition("/")[2]
    roles = [
        name
        for name, is_on in (
            ("writes queries", llm.reformulate),
            (f"reranks ({llm.rerank})", llm.rerank != "none"),
            ("picks", llm.pick),
            ("verifies", llm.verify),
        )
        if is_on
    ]
    has_model = llm.provider != "none"
    ranker = status.ranker if status is not None and status.library else found.ranker
    return (
        Part(
            name="fusion",
            title="Fusion",
            detail="reciprocal ranks",
            milliseconds=spent.get("fusion"),
        ),
        Part(
            name="ranker",
            title="Ranker",
            detail="trees over evidence" if ranker == "learned" else "the fusion's order",
            is_on=ranker == "learned",
            milliseconds=spent.get("ranking"),
        ),
        Part(
            name="cross_encoder",
            title="Cross-encoder",
            detail=cross or "none",
            is_on=bool(cross),
            milliseconds=spent.get(_CROSS_ENCODER),
        ),
        Part(
            name="model",
            title="Language model",
            detail=f"{llm.model or llm.provider}: {', '.join(roles)}" if has_model else "none",
            is_on=has_model,
            milliseconds=spent.get(_MODEL),
        ),
    )


def _sources(options: Options) -> Part:
    allowed = options.sources.allow if options.sources.search else ()
    return Part(
        name="sources",
        title="Online sources",
        detail=", ".join(allowed) or "none allowed",
        is_on=bool(allowed),
    )


# The steps of a search as a picture: SVG without script, or Mermaid for Markdown.

_WIDTH, _GAP, _ROW = 132, 22, 14
_HEIGHT = 66
_SPACE = 10
_CHARACTERS = 20
_LINES = 2
_STYLE = """\
svg { color-scheme: light dark; }
text { font: 11px system-ui, sans-serif; fill: #1b1f24; text-anchor: middle; }
.title { font-weight: 600; font-size: 12.5px; }
.ms { fill: #0b5cad; }
rect { fill: #f3f5f7; stroke: #57606a; }
path { fill: none; stroke: #57606a; marker-end: url(#end); }
#end path { fill: #57606a; stroke: none; }
.off rect { fill: none; stroke-dasharray: 4 3; }
.off text { fill: #57606a; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e8eb; } .ms { fill: #7db7f5; } .off text { fill: #a9b2bc; }
  rect { fill: #20252b; stroke: #a9b2bc; } path { stroke: #a9b2bc; } #end path { fill: #a9b2bc; }
}
"""


def svg(found: Pipeline) -> str:
    """The picture, from the words on the left to the list of papers on the right."""
    height = 24 + (len(found.retrievers) + 1) * (_HEIGHT + _SPACE)
    columns = 3 + len(found.stages)
    width = columns * _WIDTH + (columns - 1) * _GAP + 20
    middle = (height - 24 - _HEIGHT - _SPACE) / 2 + 5
    drawn: list[str] = []

    def x(column: int) -> float:
        return 10 + column * (_WIDTH + _GAP)

    def arrow(column: int, y: float, to_y: float, to_column: int) -> None:
        start, end = x(column) + _WIDTH, x(to_column) - 2
        bend = min(_GAP / 2, (end - start) / 2)
        drawn.append(
            f'<path d="M{start:.0f} {y:.0f} C{start + bend:.0f} {y:.0f} '
            f'{end - bend:.0f} {to_y:.0f} {end:.0f} {to_y:.0f}"/>'
        )

    drawn += _box(Part(name="words", title="Words, passage"), x(0), middle - _HEIGHT / 2)
    for row, part in enumerate(found.retrievers):
        y = 10 + row * (_HEIGHT + _SPACE)
        drawn += _box(part, x(1), y)
        if part.is_on:
            arrow(0, middle, y + _HEIGHT / 2, 1)
            arrow(1, y + _HEIGHT / 2, middle, 2)
    for column, part in enumerate(found.stages, 2):
        drawn += _box(part, x(column), middle - _HEIGHT / 2)
        arrow(column, middle, middle, column + 1)
    last = columns - 1
    papers = Part(name="papers", title="List of papers", milliseconds=found.total)
    drawn += _box(papers, x(last), middle - _HEIGHT / 2)
    y = height - _HEIGHT - 14
    drawn += _box(found.sources, x(1), y)
    if found.sources.is_on:
        arrow(0, middle, y + _HEIGHT / 2, 1)
        down = f"M{x(1) + _WIDTH:.0f} {y + _HEIGHT / 2:.0f} H{x(last) + _WIDTH / 2:.0f} "
        drawn.append(f'<path d="{down}V{middle + _HEIGHT / 2 + 2:.0f}"/>')
    words = ", ".join(one.title for one in (*found.retrievers, *found.stages) if one.is_on)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(f"How a search is answered: {words}")}">\n'
        f"<style>{_STYLE}</style>\n"
        '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def mermaid(found: Pipeline) -> str:
    """A Mermaid flowchart with the same parts; switched-off parts are dashed."""
    parts = (*found.retrievers, *found.stages, found.sources)
    lines = ["flowchart LR", '  words["words, passage"]', f'  papers["{_total(found)}"]']
    lines += [f'  {one.name}["{"<br>".join(map(_quoted, _lines_of(one)))}"]' for one in parts]
    on = [one.name for one in found.retrievers if one.is_on]
    if on:
        lines += [f"  words --> {' & '.join(on)} --> fusion"]
    names = [one.name for one in found.stages]
    lines += [f"  {' --> '.join([*names, 'papers'])}"]
    if found.sources.is_on:
        lines += ["  words --> sources --> papers"]
    off = [one.name for one in parts if not one.is_on]
    if off:
        lines += ["  classDef off stroke-dasharray: 4 3", f"  class {','.join(off)} off"]
    return "\n".join(lines) + "\n"


def _total(found: Pipeline) -> str:
    return "list of papers" + ("" if found.total is None else f"<br>{_time(found.total)}")


def _quoted(text: str) -> str:
    """Text in a node of Mermaid, with entities for quotes and markup."""
    return escape(text, quote=False).replace('"', "#quot;")


def _lines_of(part: Part) -> list[str]:
    """The title, the detail and the time."""
    state = part.detail if part.is_on else f"off: {part.detail}"
    found = [part.title, *([state] if part.detail else [])]
    return found if part.milliseconds is None else [*found, _time(part.milliseconds)]


def _time(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"


def _box(part: Part, x: float, y: float) -> Sequence[str]:
    state = part.detail if part.is_on or not part.detail else f"off: {part.detail}"
    detail = textwrap.wrap(state, _CHARACTERS, max_lines=_LINES, placeholder=" …")
    lines = [("title", part.title), *(("", line) for line in detail)]
    if part.milliseconds is not None:
        lines.append(("ms", _time(part.milliseconds)))
    top = y + (_HEIGHT - len(lines) * _ROW) / 2 + 11
    centre = x + _WIDTH / 2
    texts = [
        f'<text class="{kind}" x="{centre:.0f}" y="{top + n * _ROW:.0f}">{escape(line)}</text>'
        for n, (kind, line) in enumerate(lines)
    ]
    kind = "" if part.is_on else ' class="off"'
    about = f"<title>{escape(': '.join(one for one in (part.title, state) if one))}</title>"
    return [
        f"<g{kind}>{about}",
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>',
        *texts,
        "</g>",
    ]
