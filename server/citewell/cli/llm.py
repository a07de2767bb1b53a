"""`citewell llm`: who is asked, what it is sent, what it has cost, and whether it answers."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import click

from citewell.cli.terminal import FINDINGS, OK, Session, console, show_problems, write_json

if TYPE_CHECKING:
    from citewell.llm.assistant import LanguageModel
    from citewell.model import Problem
    from citewell.options import Options

SENT = (
    "the citing sentence with two sentences before and one after it, the typed words, "
    "the titles of section and paper, and, of the papers found or cited, titles, "
    "authors, years and the beginnings of the abstracts"
)
ON_REQUEST = "and, on request, whether a paper supports a sentence"
NEVER = "whole files, other parts of the text, your keys, file names"


@click.command(
    "llm", short_help="Show the configured language model, what it receives and what it has cost."
)
@click.option("--ask", is_flag=True, help="Send it a test question about two invented papers.")
@click.option("--json", "as_json", is_flag=True, help="Write the facts as JSON.")
@click.pass_context
def llm(ctx: click.Context, ask: bool, as_json: bool) -> None:
    """Show the configured language model, what it receives and what it has cost.

    Nothing is sent without --ask, and then nothing of yours. Exits with 1 if there is a problem.
    """
    session: Session = ctx.obj
    options = session.load().options
    found, problems = facts(options, ask=ask)
    if as_json:
        write_json({**found, "problems": problems})
    else:
        _show(found)
        show_problems(problems)
    ctx.exit(FINDINGS if problems else OK)


def facts(options: Options, *, ask: bool = False) -> tuple[dict[str, Any], list[Problem]]:
    """All there is to say; a problem for what keeps the model from being asked."""
    from citewell.llm.account import Account
    from citewell.llm.assistant import LanguageModel
    from citewell.llm.providers import key_of, needs_key, no_key
    from citewell.llm.versions import NAMES, current_version
    from citewell.model import CitewellError, Problem

    own = options.llm
    found: dict[str, Any] = {"provider": own.provider, "model": own.model}
    problems: list[Problem] = []
    account = Account(own.daily_tokens, own.daily_cost)
    try:
        model = LanguageModel.open(own)
        if model is not None:
            end = model.endpoint
            key = key_of(end)
            found |= {"host": end.host, "on_this_machine": end.local, "url": end.url}
            found["key"] = "" if key is None else key.origin
            if key is None and needs_key(end):
                problems.append(no_key(end))
        names = {name: own.version or current_version(name, own.programs) for name in NAMES}
    except CitewellError as error:
        model, names = None, {}
        problems.append(error.problem)
    found |= {
        "sent": SENT if own.provider != "none" else "",
        "asked_to": _model_uses(options),
        "programs": names,
        "limits": {
            "request_tokens": own.request_tokens,
            "answer_tokens": own.answer_tokens,
            "timeout_ms": own.timeout_ms,
            "daily_tokens": own.daily_tokens,
            "daily_cost": own.daily_cost,
        },
    }
    if ask and model is None and not problems:
        problems.append(
            Problem(
                "llm-off", "No language model configured.", "Set `llm.provider` and `llm.model`."
            )
        )
    if ask and model is not None and not problems:
        found["answer"], problem = _try(model)
        problems += [] if problem is None else [problem]
    try:
        found["today"] = account.by_model()
    except (sqlite3.Error, OSError) as error:
        found["today"] = {}
        click.echo(f"Cannot read the usage record: {error}", err=True)
    return found, problems


def _model_uses(options: Options) -> list[str]:
    own = options.llm
    if own.provider == "none":
        return []
    wanted = {
        "pick": own.pick,
        f"rerank ({own.rerank})": own.rerank != "none",
        "reformulate": own.reformulate,
        "verify": own.verify,
    }
    return [name for name, is_on in wanted.items() if is_on]


def _try(model: LanguageModel) -> tuple[dict[str, Any], Problem | None]:
    import time

    from citewell.model import Query, Work

    works = [
        Work(id="a", title="Attention in machine translation", year=2015),
        Work(id="b", title="Growing apples in dry valleys", year=2001),
    ]
    begin = time.perf_counter()
    picked = model.pick(Query(sentence="Apple trees need little water [CITATION]."), works)
    model.close()
    return {
        "chose": picked.work,
        "answered": picked.by == "model",
        "right": picked.by == "model" and picked.work == "b",
        "reason": picked.reason,
        "seconds": round(time.perf_counter() - begin, 2),
        "usage": picked.usage,
    }, picked.problem


def _show(found: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    if found["provider"] == "none":
        click.echo("No language model configured; nothing is sent (`llm.provider`).")
        return
    rows: dict[str, str] = {"model": f"{found['provider']} {found['model']}"}
    if "host" in found:
        place = "on this machine" if found["on_this_machine"] else "another machine"
        rows["sees the text"] = f"{found['host']} ({place})"
        if found["url"]:
            rows["address"] = found["url"]
        rows["key"] = found["key"] or "none"
    rows["is asked to"] = ", ".join((*found["asked_to"], ON_REQUEST))
    rows["is sent"] = found["sent"]
    rows["is never sent"] = NEVER
    rows["limits"] = ", ".join(f"{name} {value:,}" for name, value in found["limits"].items())
    rows["programs"] = ", ".join(f"{name}@{version}" for name, version in found["programs"].items())
    for name, usage in found["today"].items():
        cost = f"${usage.cost:.4f}" + (f", {usage.unpriced} unpriced" if usage.unpriced else "")
        requests = f"{usage.requests} request" + ("" if usage.requests == 1 else "s")
        rows[f"today: {name}"] = (
            f"{requests}, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {cost}"
        )
    if "answer" in found:
        answer = found["answer"]
        word = "chose the wrong paper" if answer["answered"] else "gave no answer"
        word = "chose the right paper" if answer["right"] else word
        rows["asked a small question"] = f"{word}, in {answer['seconds']} s"
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(value))
    console().print(table)
