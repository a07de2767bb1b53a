"""Prints a coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from citewell.model.visible import visible

if TYPE_CHECKING:
    from citewell_corpus.coverage import Coverage, Share

MOST_VENUES = 15
MOST_MISSING = 20


def show_coverage(found: Coverage) -> None:
    """Print totals, tables by venue and year, missing references, and commands that fetch them."""
    if not found.references:
        click.echo("No references in these files.")
        return
    share = 100 * found.held / found.references
    click.echo(f"The library holds {found.held} of {found.references} references ({share:.0f}%).")
    _table("venue", found.by_venue[:MOST_VENUES], len(found.by_venue))
    _table("year", found.by_year, len(found.by_year))
    if found.missing:
        click.echo("\nMissing:")
        for one in found.missing[:MOST_MISSING]:
            year = one.year or "no year"
            click.echo(visible(f"  {one.key}: {one.title} ({one.venue}, {year})"))
        if len(found.missing) > MOST_MISSING:
            click.echo(f"  and {len(found.missing) - MOST_MISSING} more (--json lists all)")
    if found.commands:
        click.echo("\nTo fetch what is missing:")
        for command in found.commands:
            click.echo(f"  {visible(command)}")


def _table(name: str, shares: tuple[Share, ...], total: int) -> None:
    click.echo(f"\n{'held':>6} {'of':>5}  {name}")
    for share in shares:
        click.echo(f"{share.held:>6} {share.references:>5}  {visible(share.name)}")
    if total > len(shares):
        click.echo(f"{'':>12}  and {total - len(shares)} more")
