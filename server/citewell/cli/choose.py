"""Choosing a paper for each placeholder at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from citewell.engine.contract import Engine
    from citewell.model import Hit
    from citewell.usecases.fill_plan import PlaceholderFill

HELP = "number: choose it; Enter: choose the first; words: search; s: skip; q: skip the rest"


class Chooser:
    """Asks once per placeholder. Words search again; `q` leaves all that follow open."""

    def __init__(self, out: Console, engine: Engine, count: int) -> None:
        self.out = out
        self.engine = engine
        self.count = count
        self.stopped = False

    def __call__(self, found: PlaceholderFill) -> Hit | None:
        """The chosen paper; None to leave the placeholder open."""
        if self.stopped:
            return None
        hits = found.candidates
        self._head(found)
        while True:
            self._list(hits)
            answer = click.prompt("Take", default="1" if hits else "s", err=True).strip()
            if answer == "q":
                self.stopped = True
                return None
            if answer == "s":
                return None
            if answer in ("?", "h"):
                click.echo(HELP, err=True)
            elif answer.isdecimal() and len(answer) < 4:
                if 1 <= int(answer) <= len(hits):
                    return hits[int(answer) - 1]
                click.echo(f"No paper has the number {answer}. ({HELP})", err=True)
            else:
                hits = self._search(answer)

    def _search(self, words: str) -> tuple[Hit, ...]:
        from citewell.cli.report import show_problems
        from citewell.model import Query

        result = self.engine.find(Query(text=words), self.count, tier="full")
        show_problems((*result.problems, *result.dropped))
        return result.hits

    def _head(self, found: PlaceholderFill) -> None:
        from rich.text import Text

        text = Text(f"\n{found.path}:{found.line}:{found.column}  ", style="cyan")
        self.out.print(text.append(found.text, style="bold default"), soft_wrap=True)
        if found.sentence:
            self.out.print(Text(f"  {found.sentence}", style="italic"))

    def _list(self, hits: tuple[Hit, ...]) -> None:
        from rich.text import Text

        from citewell.cli.papers import line_of

        if not hits:
            click.echo(f"  No papers found. ({HELP})", err=True)
        for number, hit in enumerate(hits[: self.count], start=1):
            line = Text(f"  {number:>2}  ", style="cyan").append(line_of(hit.work), style="default")
            if hit.key:
                line.append(f"  [{hit.key}]", style="green")
            self.out.print(line)
