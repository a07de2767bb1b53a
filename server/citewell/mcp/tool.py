"""A tool over an operation: parameters of the operation's request, its own ones, and its answer."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, InputRequiredResult, ResourceLink, ToolAnnotations
from pydantic import Field

from citewell.mcp.arguments import StrictTool
from citewell.mcp.client_log import log_to_client
from citewell.mcp.papers import MAX_TOKENS, Detail
from citewell.mcp.questions import can_confirm, client_roots, confirmed, has_folders, question
from citewell.mcp.tool_context import ToolContext, answer_of, notes_of, progress_of, tool_errors
from citewell.model import CitewellError, Problem, SearchResult
from citewell.model.cancel import Cancel
from citewell.operations.operation import Nothing, Operation, Service
from citewell.operations.papers import Id
from citewell.options import Options
from citewell.serving.queues import Kind

SHARED = ("ge", "le", "min_length", "max_length", "pattern", "description")
"""Attributes with the same name in msgspec and pydantic."""
_NOTHING = frozenset(("default", "additionalProperties"))
"""Keywords without meaning if their value is empty or false."""

MaxTokens = Annotated[
    int,
    Field(ge=1, le=MAX_TOKENS, description="Approximate limit."),
]
Cursor = Annotated[
    str,
    Field(max_length=100, description="The last page's `next_cursor`."),
]
Write = Annotated[bool, Field(description="Write it; otherwise show the diff.")]
DetailLevel = Annotated[Detail, Field(description="full: abstract, ids, reasons.")]
BibPath = Annotated[
    str,
    Field(max_length=10_000, description="The .bib file; it may be new."),
]
PaperPath = Annotated[
    str,
    Field(max_length=10_000, description="The paper's .tex or .md file."),
]
NOT_CONFIRMED = "The user did not confirm the change: nothing is written. Do not try again unasked."
R = TypeVar("R")
Answer = dict[str, Any]


class ToolCall(msgspec.Struct, frozen=True):
    """One call of a tool."""

    tools: ToolContext
    context: Context
    operation: Operation
    arguments: dict[str, Any]
    """Arguments that are fields of the operation's request."""

    def request(self, **more: Any) -> Any:
        """The operation's request, with fields set by the tool. Raises `CitewellError` for an
        invalid value."""
        try:
            return msgspec.convert(self.arguments | more, self.operation.request)
        except msgspec.ValidationError as error:
            raise CitewellError(Problem("argument-invalid", f"{error}.")) from error

    async def run(self, work: Callable[[Service, Any, Cancel], R], **more: Any) -> R:
        """Run work on the request, on a thread in the operation's queue, with its progress sent to
        the client."""
        request = self.request(**more)
        service = Service(self.tools.options, self.tools.engine, progress_of(self.context))
        kind: Kind = self.operation.queue_of(request)
        return await self.tools.run(partial(work, service, request), kind)

    async def notify_dropped(self, results: Iterable[SearchResult]) -> None:
        """Log to the client which parts of a search did not respond."""
        for note in notes_of(problem for result in results for problem in result.dropped):
            await log_to_client(self.context, "warning", note)


# The schema of a tool's answer: each character costs tokens in every conversation. Most fields are
# strings, and only others have a type.

TEXT: Answer = {}
INTEGER: Answer = {"type": "integer"}
NUMBER: Answer = {"type": "number"}
FLAG: Answer = {"type": "boolean"}
LIST: Answer = {"type": "array"}


def described(kind: Answer, description: str) -> Answer:
    """A field with a description, if its name does not suffice."""
    return kind | {"description": description}


def choice(literal: Any) -> Answer:
    """One of the values of a `Literal`."""
    return {"enum": list(get_args(literal))}


def listed(**fields: Answer) -> Answer:
    """A list of objects with these fields."""
    return {"items": {"properties": fields}}


def may_ask(options: Options) -> bool:
    """Whether any source is allowed."""
    return bool(options.sources.allow)


def may_search(options: Options) -> bool:
    """Whether sources may be searched for papers."""
    return may_ask(options) and options.sources.search


_NO_OPERATION = Operation(
    function=lambda service, request, cancel: request, request=Nothing, response=Nothing, summary=""
)


def tool(
    operation: Operation = _NO_OPERATION,
    *,
    title: str,
    answer: Mapping[str, Answer],
    without: Collection[str] = (),
    only: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
    words: Mapping[str, str] | None = None,
    asks: Callable[[Options], bool] | None = None,
    writes: bool = False,
    removes: bool = False,
    links: Callable[[Answer], Sequence[ResourceLink]] = lambda value: (),
) -> Callable[[Callable[..., Awaitable[Answer]]], Callable[[ToolContext], Tool]]:
    """Turn a function into a tool; a model reads its name and docstring.

    Its parameters are the fields of the operation's request, and those of the function after the
    `ToolCall`. The fields are all `without` some that other protocols take, which suits a function
    that passes the request on, or `only` some; `defaults` and `words` (descriptions) are others
    than the request's. `asks`: whether it asks sources on the network, too; `writes`: it writes
    where that is allowed; `removes`: what it writes may take something away; `links`: to the
    resources that an answer names.
    """

    def decorated(function: Callable[..., Awaitable[Answer]]) -> Callable[[ToolContext], Tool]:
        shared = [
            one.replace(default=(defaults or {}).get(one.name, one.default))
            for one in _parameters(operation.request, words or {})
            if (one.name in only if only else one.name not in without)
        ]
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        names = {one.name for one in shared}

        def opened(tools: ToolContext) -> Tool:
            writing = writes and tools.allow_write

            async def call(ctx: Context, **given: Any) -> CallToolResult | InputRequiredResult:
                arguments = {name: given.pop(name) for name in names}
                used = tools
                file = f"{given.get('path') or given.get('bib') or ''}"
                if file and tools.roots.folders and not tools.shared and has_folders(ctx):
                    found = await client_roots(ctx, tools.roots)
                    if isinstance(found, InputRequiredResult):
                        return found
                    used = tools.with_roots(found)
                one = ToolCall(used, ctx, operation, arguments)
                with tool_errors():
                    if writing and given.get("write") and tools.confirm and can_confirm(ctx):
                        whole = {"write": False, "diff": True, "max_tokens": MAX_TOKENS}
                        dry = {name: whole.get(name, value) for name, value in given.items()}
                        shown = await function(one, **dry)
                        if not any(map(shown.get, ("diff", "size", "notes"))):
                            return answer_of(shown, ctx, links(shown))
                        wanted = await confirmed(ctx, question(function.__name__, shown, file))
                        if isinstance(wanted, InputRequiredResult):
                            return wanted
                        if not wanted:
                            return answer_of(shown | {"notes": NOT_CONFIRMED}, ctx, ())
                    value = await function(one, **given)
                    return answer_of(value, ctx, links(value))

            every = [*shared, *(one.replace(kind=one.KEYWORD_ONLY) for one in own)]
            call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
                sorted(every, key=lambda one: one.default is not one.empty)
            )
            made = cast(
                StrictTool,
                StrictTool.from_function(
                    call,
                    name=function.__name__,
                    title=title,
                    description=" ".join((inspect.getdoc(function) or "").split()),
                    context_kwarg="ctx",
                    annotations=ToolAnnotations(
                        read_only_hint=not writing,
                        # True is the default for a tool that writes.
                        destructive_hint=False if writing and not removes else None,
                        # The specification defines it only for tools that write.
                        idempotent_hint=True if writing and not removes else None,
                        # True is the default.
                        open_world_hint=None if asks is not None and asks(tools.options) else False,
                    ),
                    structured_output=False,
                ),
            )
            made._roots = tools.roots
            made.parameters = slim(made.parameters)
            made.fn_metadata.output_schema = {"type": "object", "properties": dict(answer)}
            return made

        return opened

    return decorated


def _parameters(
    request: type[msgspec.Struct], words: Mapping[str, str]
) -> Iterator[inspect.Parameter]:
    """The fields of a request as parameters, inherited ones last, with their bounds and
    descriptions; `words` are other descriptions."""
    types = get_type_hints(request, include_extras=True)
    own = inspect.get_annotations(request)
    for field in sorted(msgspec.structs.fields(request), key=lambda one: one.name not in own):
        default = field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        elif default is msgspec.NODEFAULT:
            default = inspect.Parameter.empty
        kind = _as_pydantic(types[field.name])
        if field.name in words:
            kind = Annotated[kind, Field(description=words[field.name])]
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
        )


def _as_pydantic(kind: Any) -> Any:
    """A type with bounds and description converted from msgspec to pydantic."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        shared = {name: value for one in parts[1:] for name in SHARED
                  if (value := getattr(one, name)) is not None}  # fmt: skip
        return Annotated[_as_pydantic(parts[0]), Field(**shared)]
    if origin in (Union, UnionType):
        return functools.reduce(operator.or_, map(_as_pydantic, parts))
    if origin is tuple:
        return list[_as_pydantic(parts[0])]  # type: ignore[misc]
    return kind


PaperId = _as_pydantic(Id)


def slim(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON schema without redundant names and empty keywords: each character costs tokens in
    every conversation."""
    slimmed = _slim(schema)
    assert isinstance(slimmed, dict)
    return slimmed


def _slim(schema: Any, *, names: bool = False) -> Any:
    """`names`: the keys of this object are names of properties."""
    if isinstance(schema, list):
        return [_slim(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if not names and "anyOf" in schema:
        # Either a value is given, or nothing.
        given = [one for one in schema["anyOf"] if one != {"type": "null"}]
        if len(given) == 1:
            beside = {name: value for name, value in schema.items() if name != "anyOf"}
            return _slim({**beside, **given[0]})
    if not names and "items" in schema:
        # The list describes its items.
        items = {
            name: one
            for name, one in schema["items"].items()
            if name not in ("description", "minLength", "maxLength")
        }
        schema = {**schema, "items": items}
    return {
        name: _slim(value, names=name == "properties" and not names)
        for name, value in schema.items()
        if names or not (name == "title" or (name in _NOTHING and not value))
    }
