"""What a fill answers, within a bound of tokens."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from citewell.mcp.papers import MAX_TOKENS, Ref, tokens_of, within


class Filled(TypedDict, total=False):
    """A placeholder; open while it has no key."""

    n: int
    place: str
    text: str
    confidence: float
    key: str
    paper: Ref
    supported: str
    reason: str
    candidates: list[Ref]


class Fill(TypedDict):
    """What is or would be changed."""

    written: bool
    placeholders: list[Filled]
    diff: str
    notes: NotRequired[str]


def bounded(done: Fill, *, diff: bool, budget: int) -> Fill:
    """The answer of a fill within a number of tokens: the placeholders without candidates, then
    their candidates, then the diff, as far as they fit; `notes` list what was cut."""
    budget = min(budget, MAX_TOKENS)
    notes = [done["notes"]] if "notes" in done else []
    plain: list[Filled] = [
        {name: value for name, value in one.items() if name != "candidates"}  # type: ignore[misc]
        for one in done["placeholders"]
    ]
    kept = within(plain, budget)
    spent = sum(map(tokens_of, plain[:kept]))
    shown = plain[:kept]
    if kept < len(plain):
        notes.append(f"Placeholders {kept + 1} to {len(plain)} are omitted because of max_tokens.")
    without = []
    for number, one in enumerate(done["placeholders"][:kept]):
        if one.get("candidates"):
            spent += tokens_of(one["candidates"])
            if spent <= budget:
                shown[number] = one
            else:
                without.append(str(one["n"]))
    if without:
        notes.append(f"Candidates are omitted because of max_tokens: {', '.join(without)[:200]}.")
    text = done["diff"] if diff else ""
    if text and spent + tokens_of(text) > budget:
        notes.append(f"The diff is omitted because of max_tokens: it has {tokens_of(text)} tokens.")
        text = ""
    found: Fill = {"written": done["written"], "placeholders": shown, "diff": text}
    if notes:
        found["notes"] = "\n".join(notes)
    return found
