"""The error of an invalid tool call, for an agent that is to correct it: the argument, its form,
and a possible next call.

A tool takes only the arguments that it names: the SDK drops unknown ones, so that a filter with a
wrong name would silently be ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import PrivateAttr, ValidationError

from citewell.mcp.roots import Roots
from citewell.mcp.tool_context import failure, tool_errors
from citewell.model import CitewellError, Problem
from citewell.model.document import PAPER_SUFFIXES
from citewell.model.problem import meant

SAME = {"limit": "k"}
"""Accepted synonyms; not listed, since each character of the list costs tokens."""
MOST_ERRORS = 3
"""Maximum number of wrong arguments in an error."""
MAX_SHOWN = 80
"""Maximum characters of a value in an error."""
EXAMPLES: Mapping[str, Any] = {
    "text": "Attention is enough for translation [CITATION].",
    "query": "graph attention networks",
    "author": "LeCun",
    "venue": "NeurIPS",
    "id": "10.18653/v1/N19-1423",
    "ids": ["10.18653/v1/N19-1423"],
    "kept": ["10.18653/v1/N19-1423"],
    "rejected": ["10.18653/v1/N19-1423"],
    "path": "main.tex",
    "bib": "refs.bib",
    "style": "apa",
    "choices": {"1": "10.18653/v1/N19-1423"},
    "changes": {"smith2020": "mark"},
    "request": "arxiv --category cs.CL --max 500",
}
"""Example values by argument, for the possible next call."""
_REFERENCE = "@article{smith2020, title = {...}, author = {...}, year = {2020}}"
_FILES = ("file-missing", "file-too-large", "mcp-outside-roots", "mcp-no-paper", "mcp-no-bib")
_ABOUT: Mapping[str, tuple[str, ...]] = {
    "record-unknown": ("id", "ids", "kept", "rejected", "choices", "changes"),
    "cursor-foreign": ("cursor",),
    "mcp-no-root": ("path", "bib"),
    "mcp-read-only": ("write",),
    "placeholder-unknown": ("choices",),
    "change-impossible": ("changes",),
    "style-unknown": ("style",),
    "key-invalid": ("key",),
    "request-invalid": ("year",),
    **dict.fromkeys(_FILES, ("path", "bib")),
}
"""From the code of a problem to the arguments that it may concern."""


class StrictTool(Tool):
    """Rejects unknown arguments, and lists the known ones."""

    _roots: Roots = PrivateAttr(default=Roots())

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Run the tool. Raises `ToolError` with a message for the model."""
        with tool_errors():
            arguments = known_arguments(self.name, self.parameters, arguments)
            arguments = self._checked(arguments)
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            problem = _problem_of(error)
            if problem is None:
                raise
            raise ToolError(self._failure(problem, arguments)) from error

    def _checked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments without null for an optional one: many models send that for "not given".

        Raises `CitewellError` for an invalid value.
        """
        known, required = self.parameters["properties"], self.parameters.get("required", ())
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or name in required
        }
        try:
            self.fn_metadata.validate_arguments(given)
        except ValidationError as error:
            names = [str(one["loc"][0]) for one in error.errors(include_url=False)]
            raise CitewellError(wrong_values(self.name, known, given, names)) from error
        # To pydantic true is a number, too.
        flags = [name for name, value in given.items() if isinstance(value, bool)]
        if wrong := [name for name in flags if known[name]["type"] != "boolean"]:
            raise CitewellError(wrong_values(self.name, known, given, wrong))
        return given

    def _failure(self, problem: Problem, given: dict[str, Any]) -> str:
        """The error for the model: the argument, the problem, and the next call."""
        about = [name for name in _ABOUT.get(problem.code, ()) if given.get(name)]
        if problem.code == "explore-empty":
            about = ["query"]
        named = f"`{about[0]}`: " if about and f"`{about[0]}`" not in problem.message else ""
        text = failure(Problem(problem.code, f"{named}{problem.message}", problem.hint))
        if not about:
            return text
        tool, arguments = self._next(problem.code, about[0], given)
        return f"{text} Next: {call_text(tool, arguments)}"

    def _next(self, code: str, name: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The possible next call after a problem with an argument."""
        rest = {one: value for one, value in given.items() if one != name}
        bib = name == "bib" or self.name == "check_references"
        file = self._roots.example((".bib",) if bib else PAPER_SUFFIXES)
        file = file or EXAMPLES["bib" if bib else "path"]
        tool, arguments = self.name, rest
        if code == "record-unknown":
            tool, arguments = "search_papers", {"query": "words of its title"}
        elif code == "mcp-no-root" and self.name == "check_references":
            arguments = {"text": _REFERENCE}
        elif code == "mcp-no-root" and self.name == "fill_document":
            tool, arguments = "find_citations", {"text": EXAMPLES["text"]}
        elif code == "mcp-no-root" and bib:
            ids = given.get("ids") or [given["id"]]
            tool, arguments = "get_papers", {"ids": ids, "format": "bibtex"}
        elif code in _FILES:
            arguments = {**rest, name: file}
        elif code == "cursor-foreign" and not rest:
            arguments = {"path": file}
        elif code == "style-unknown":
            arguments = {**rest, name: EXAMPLES[name]}
        elif code == "explore-empty":
            arguments = {"query": EXAMPLES["query"]}
        return tool, arguments


def _problem_of(error: BaseException | None) -> Problem | None:
    """The problem that a tool raised, inside its wrapping errors."""
    while error is not None:
        if isinstance(error, CitewellError):
            return error.problem
        error = error.__cause__
    return None


def known_arguments(tool: str, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments by their own names. Raises `CitewellError` for a name that the tool lacks."""
    known = schema["properties"]
    found: dict[str, Any] = {}
    for name, value in given.items():
        own = name if name in known else SAME.get(name, name)
        if own not in known:
            close = meant(name, known)
            hint = f" Did you mean `{close}`? It takes {form_of(known[close])}." if close else ""
            others = {one: value for one, value in given.items() if one in known}
            if close and close not in others:
                others[close] = value
            call = next_call(tool, schema, others)
            raise CitewellError(
                Problem(
                    "argument-unknown",
                    f"{tool} has no argument `{name[:100]}`.{hint}",
                    f"Its arguments: {', '.join(known)}. Next: {call}",
                )
            )
        if own in found and found[own] != value:
            raise CitewellError(
                Problem(
                    "argument-twice",
                    f"`{own}` is given twice, with different values.",
                    f"Give it once. Next: {next_call(tool, schema, found)}",
                )
            )
        found[own] = value
    return found


def wrong_values(
    tool: str, known: dict[str, Any], given: dict[str, Any], names: Iterable[str]
) -> Problem:
    """The problem of arguments with invalid or missing values."""
    wrong = list(dict.fromkeys(names))
    sentences = [
        f"`{name}` {_state(given, name)}; it takes {form_of(known[name])}."
        for name in wrong[:MOST_ERRORS]
    ]
    better = {name: value for name, value in given.items() if name not in wrong}
    for name in wrong:
        better |= _better(name, known[name], given.get(name))
    return Problem("argument-invalid", " ".join(sentences), f"Next: {call_text(tool, better)}")


def invalid(tool: str, message: str, **arguments: Any) -> CitewellError:
    """The error of arguments that exclude each other; the call with `arguments` is suggested."""
    return CitewellError(
        Problem("argument-invalid", message, f"Next: {call_text(tool, arguments)}")
    )


def _state(given: Mapping[str, Any], name: str) -> str:
    if name not in given:
        return "is missing"
    value = given[name]
    if isinstance(value, str) and len(value) > MAX_SHOWN:
        return f"has {len(value):,} characters"
    if isinstance(value, list | dict) and len(_json(value)) > MAX_SHOWN:
        return f"has {len(value):,} items"
    return f"is {_json(value)}"


def form_of(schema: Mapping[str, Any]) -> str:
    """The form of an argument in words: "an integer from 1 to 50"; with its meaning."""
    words = _form(schema)
    if (default := schema.get("default")) not in (None, "", [], {}):
        words += f" (default {_json(default)})"
    about = schema.get("description", "").rstrip(".")
    return f"{words}: {about}" if about else words


def _form(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    kind = schema.get("type")
    if kind in ("integer", "number"):
        noun = "an integer" if kind == "integer" else "a number"
        return f"{noun} from {schema.get('minimum', 0)} to {schema.get('maximum', 'any')}"
    if kind == "boolean":
        return "true or false"
    if kind == "array":
        return f"a list of {schema.get('minItems', 0)} to {schema.get('maxItems', 'any')} texts"
    if kind == "object":
        return "an object of texts"
    least = f"{schema['minLength']} to " if "minLength" in schema else "at most "
    return f"a text of {least}{schema.get('maxLength', 0):,} characters"


def _better(name: str, schema: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """A valid value for the argument, near the given one; none if it is optional."""
    if "enum" in schema:
        return {name: schema.get("default", schema["enum"][0])}
    if schema.get("type") in ("integer", "number"):
        if isinstance(value, int | float) and value > schema.get("maximum", value):
            return {name: schema["maximum"]}
        return {name: schema["default"]} if schema.get("default") is not None else {}
    if schema.get("type") == "array" and isinstance(value, str) and value:
        return {name: [value]}
    if name in EXAMPLES:
        return {name: EXAMPLES[name]}
    return {}


def next_call(tool: str, schema: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """The call with these arguments, and with examples of missing ones."""
    lacking: dict[str, Any] = {}
    for name in schema.get("required", ()):
        if name not in given:
            lacking |= _better(name, schema["properties"][name], None)
    return call_text(tool, {**lacking, **given})


def call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call in an agent's form, with long values cut: `search_papers {"query": "attention"}`."""
    cut: Callable[[Any], Any] = lambda value: (  # noqa: E731
        value if len(_json(value)) <= MAX_SHOWN else "..."
    )
    return f"{tool} {_json({name: cut(value) for name, value in arguments.items()})}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
