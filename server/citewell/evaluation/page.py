"""The result as a self-contained HTML page: no script, no network, no other files."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files

from citewell.evaluation import page_tables, svg
from citewell.evaluation.results import Evaluation, MethodRun, Miss, Paper
from citewell.evaluation.table import number, summary
from citewell.features.checking.page import POLICY

MARK = "[CITATION]"
OTHER = "[OTHER]"
NEWER_REPORTED = 0.1
"""Minimum share of newer papers in the top ten for a note about them."""


def render(evaluation: Evaluation, title: str = "", *, own: bool = False) -> str:
    """The page as HTML. `own`: for the author of one manuscript, citation by citation."""
    title = title or f"Citation recommendation: {evaluation.data.name}"
    body = "\n".join(_body(evaluation, title, own))
    css = files("citewell.evaluation").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{css}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def headline_run(evaluation: Evaluation) -> MethodRun:
    """The run of the headline figures: the last method, in the warm setting if measured."""
    last = evaluation.runs[-1].name
    return evaluation.run(last, "warm") or evaluation.runs[-1]


def _body(evaluation: Evaluation, title: str, own: bool) -> Iterator[str]:
    run = headline_run(evaluation)
    yield f"<header><h1>{escape(title)}</h1>"
    yield f'<p class="lede">{escape(_lede(evaluation, run, own))}</p></header>'
    yield _tiles(evaluation, run, own)
    if own:
        yield _newer(evaluation, run)
        yield _strip(evaluation, run)
    if own:
        yield from _reading(evaluation, run, own)
    yield "<section><h2>Recall by length of the list</h2>"
    yield "<figure>" + svg.recall_chart(svg.lines(evaluation), evaluation.depth)
    dashed = len({one.setting for one in evaluation.runs}) > 1
    settings = "Solid: warm, the paper's other references are known. Dashed: cold, text alone."
    yield (
        "<figcaption>Share of right papers among the first papers listed (logarithmic axis). "
        f"{settings if dashed else ''}</figcaption></figure></section>"
    )
    several = len({one.name for one in evaluation.runs}) > 1
    yield f"<section><h2>{'Methods by metrics' if several else 'Metrics'}</h2>"
    yield page_tables.heat(evaluation, "library", own)
    yield "</section>"
    if not own:
        yield from _reading(evaluation, run, own)
    yield page_tables.details(evaluation)
    yield _about(evaluation)


def _reading(evaluation: Evaluation, run: MethodRun, own: bool) -> Iterator[str]:
    if evaluation.misses:
        yield _misses(evaluation, run, own)
    if evaluation.finds:
        yield _finds(evaluation, own)


def _lede(evaluation: Evaluation, run: MethodRun, own: bool) -> str:
    held = sum(item.held > 0 for item in evaluation.items)
    library = f"a library of {evaluation.library.works:,} papers"
    if own:
        return (
            f"Each of the {len(evaluation.items):,} citations was removed, one at a time, and "
            f"Citewell searched for it from the surrounding text, in {library}. The library "
            f"has the cited paper for {held:,} of them; the figures are for those, {_how(run)}."
        )
    return (
        f"{held:,} questions whose right answer is in {library}. "
        f"The headline figures are for these, {_how(run)}."
    )


def _how(run: MethodRun) -> str:
    known = "the paper's other references known" if run.setting == "warm" else "from the text alone"
    name = "Citewell as configured" if run.name == "pipeline" else f"the method “{run.name}”"
    return f"by {name}, {known}"


def _tiles(evaluation: Evaluation, run: MethodRun, own: bool) -> str:
    held = [item for item in evaluation.items if item.held]
    tiles = []
    for metric, words in (
        ("recall@1", "the first paper is the right one"),
        ("recall@10", "the right paper is among the first ten"),
        ("recall@100", "the right paper is among the first hundred"),
    ):
        figure = run.figure(metric)
        if figure is None:
            continue
        one = figure.by_question
        interval = ""
        if one.low is not None and one.high is not None:
            interval = f" (95% interval {one.low:.0%} to {one.high:.0%})"
        tiles.append((f"{one.mean:.0%}", words + interval))
    first = run.figure("mrr")
    if first and not own:
        words = "mean reciprocal rank: 1 if every right paper is first, .5 if second"
        tiles.append((number(first.by_question.mean), words))
    if own:
        share = len(held) / len(evaluation.items) if evaluation.items else 0.0
        tiles.append((f"{share:.0%}", "of the cited papers are in this library"))
    if run.latency:
        tiles.append((f"{run.latency.p95:.0f} ms", "95th percentile of the search time"))
    backed = f"of {run.emitted:,} papers listed are hallucinated: each was looked up again"
    tiles.append((f"{run.unbacked:,}", backed))
    items = "".join(f"<li><b>{escape(a)}</b><span>{escape(b)}</span></li>" for a, b in tiles)
    return f'<ul class="tiles">{items}</ul>'


def _strip(evaluation: Evaluation, run: MethodRun) -> str:
    judged = {one.id: one for one in run.judged}
    counts: dict[str, int] = {}
    for item in evaluation.items:
        one = judged.get(item.id)
        css, _ = svg.band(one.ranks[0] if one and one.ranks else None, item.held > 0)
        counts[css] = counts.get(css, 0) + 1
    names = [(css, f"rank {words}") for _, css, words in svg.BANDS]
    names[0] = ("b1", "found first")
    names += [("b6", f"not in the first {evaluation.depth}"), ("b0", "not in the library")]
    key = "".join(
        f'<li><i class="{css}"></i>{escape(words)}: {counts[css]}</li>'
        for css, words in names
        if counts.get(css)
    )
    return (
        "<section><h2>Your paper, citation by citation</h2>"
        "<figure>" + svg.strip(evaluation, run) + f'<ul class="key">{key}</ul>'
        "<figcaption>In text order; hover over a square for its key.</figcaption>"
        f"</figure>{_every(evaluation, run)}</section>"
    )


def _newer(evaluation: Evaluation, run: MethodRun) -> str:
    """A note if many listed papers are newer than the citing paper."""
    first, ten = run.figure("recall@1", "past"), run.figure("recall@10", "past")
    if first is None or ten is None or (run.newer_in_ten or 0.0) < NEWER_REPORTED:
        return ""
    return (
        f'<p class="note">{run.newer_in_ten:.0%} of the papers in the top ten are newer than the '
        "newest reference of this paper, which could not have cited them. Without them, the first "
        f"paper is right for {first.by_question.mean:.0%} of the citations and one of the top ten "
        f"for {ten.by_question.mean:.0%}.</p>"
    )


def _every(evaluation: Evaluation, run: MethodRun) -> str:
    """A table of all citations with their ranks, cold and warm, in text order."""
    runs = [one for one in evaluation.runs if one.name == run.name]
    ranks = [{one.id: one for one in method.judged} for method in runs]
    rows = []
    for item in evaluation.items:
        tags = dict(tag.split(":", 1) for tag in item.tags if ":" in tag)
        cells = []
        for judged in ranks:
            one = judged.get(item.id)
            rank = one.ranks[0] if one and one.ranks else None
            css, words = svg.band(rank, item.held > 0)
            shown = str(rank) if rank else words.replace("not in the library", "-")
            cells.append(f'<td><i class="{css}"></i>{escape(shown)}</td>')
        place = ":".join(part for part in (tags.get("file", ""), tags.get("line", "")) if part)
        rows.append(
            f'<tr><th scope="row">{escape(tags.get("key", item.id))}</th>'
            f'<td class="text">{escape(place)}</td>{"".join(cells)}</tr>'
        )
    heads = ["key", "place", *(f"rank, {one.setting}" for one in runs)]
    return page_tables.table(
        "All citations with the rank of their paper (-: not in the library)", heads, rows
    )


def _misses(evaluation: Evaluation, run: MethodRun, own: bool) -> str:
    cards = "".join(_card(miss, evaluation.depth, own) for miss in evaluation.misses)
    whose = (evaluation.misses[0].method or run.label).replace("pipeline", svg.shown("pipeline"))
    return (
        "<section><h2>Selected misses</h2>"
        f"<p>Cases where {escape(whose)} did not rank the right paper in the top ten, although the "
        "passage contains words of its title; those with the most words in common first.</p>"
        f"{cards}</section>"
    )


def _finds(evaluation: Evaluation, own: bool) -> str:
    cards = "".join(_card(find, evaluation.depth, own) for find in evaluation.finds)
    return (
        "<section><h2>Selected hits</h2>"
        "<p>The right paper is ranked first, although the passage has few words of its title.</p>"
        f"{cards}</section>"
    )


def _card(miss: Miss, depth: int, own: bool) -> str:
    rank = f"rank {miss.rank}" if miss.rank else f"not among the first {depth}"
    place = miss.paper if not own else ""
    if miss.file:
        place = f"{miss.file}:{miss.line}" if miss.line else miss.file
    where = " · ".join(part for part in (place, miss.key, rank) if part)
    before = f'<span class="soft">{escape(miss.before)}</span> ' if miss.before else ""
    text = escape(miss.text).replace(MARK, "<mark>citation</mark>").replace(OTHER, "[…]")
    truth = "".join(f"<li>{_paper(one)}</li>" for one in miss.truth)
    cited = f"<div><h3>Cited</h3><ul>{truth}</ul></div>"
    if miss.rank != 1:
        offered = "".join(f"<li>{_paper(one)}</li>" for one in miss.offered)
        offered = f"<ol>{offered}</ol>" if offered else "<p>None.</p>"
        cited += f"<div><h3>Listed first</h3>{offered}</div>"
    return (
        f'<article><p class="where">{escape(where)}</p><blockquote>{before}{text}</blockquote>'
        f'<div class="pair">{cited}</div></article>'
    )


def _paper(paper: Paper) -> str:
    about = ", ".join(part for part in (paper.authors, str(paper.year or "")) if part)
    return f"{escape(paper.title)}<small>{escape(about)}</small>"


def _about(evaluation: Evaluation) -> str:
    facts = [("Created", f"{evaluation.created}, Citewell {evaluation.version}")]
    if evaluation.command:
        facts.append(("Command", evaluation.command))
    facts += [("Data", line) for line in summary(evaluation)]
    facts += [(name, f"{count:,}") for name, count in evaluation.data.counts.items()]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    notes = "".join(
        f"<li>{escape(note)}</li>" for note in (*evaluation.data.notes, *evaluation.notes)
    )
    methods = {svg.shown(run.name): run.description for run in evaluation.runs}
    named = "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in methods.items() if b)
    return (
        f"<section><h2>How this was measured</h2><dl>{named}{listed}</dl>"
        f'<ul class="plain">{notes}</ul></section>'
    )
