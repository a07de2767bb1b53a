"""A tool that takes the arguments it names and no others, and says what is wrong with a value.

The SDK drops unknown arguments, so that a filter with a wrong name would silently be ignored.
"""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from pydantic import ValidationError

from citewell.mcp.tool_context import tool_errors
from citewell.model import CitewellError, Problem
from citewell.model.problem import meant

SAME = {"limit": "k"}
"""Other names that are taken, too; not listed, for each letter of the list costs tokens."""

MOST_ERRORS = 5
"""Wrong arguments that an error names."""


class StrictTool(Tool):
    """Refuses unknown arguments, and says which one was meant."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Run the tool. Raises `ToolError`, which the model reads."""
        with tool_errors():
            arguments = known_arguments(self.name, self.parameters["properties"], arguments)
            arguments = self._checked(arguments)
        return await super().run(arguments, context, convert_result)

    def _checked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments without null for an optional one: many models send that for "not given".
        Raises `CitewellError` for a value that the tool does not take."""
        required = self.parameters.get("required", ())
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or name in required
        }
        try:
            self.fn_metadata.validate_arguments(given)
        except ValidationError as error:
            wrong = [
                f"`{'.'.join(map(str, one['loc']))}`: {one['msg']}"
                for one in error.errors(include_url=False, include_context=False)[:MOST_ERRORS]
            ]
            raise CitewellError(
                Problem("argument-invalid", f"{'; '.join(wrong)}.", "Correct the arguments.")
            ) from error
        return given


def known_arguments(tool: str, known: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments by their own names. Raises `CitewellError` for a name that the tool lacks."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        own = name if name in known else SAME.get(name, name)
        if own not in known:
            close = meant(name, known)
            hint = f" Did you mean `{close}`?" if close else ""
            raise CitewellError(
                Problem(
                    "argument-unknown",
                    f"{tool} has no argument `{name[:100]}`.{hint}",
                    f"Its arguments: {', '.join(known)}.",
                )
            )
        if own in found and found[own] != value:
            raise CitewellError(
                Problem(
                    "argument-twice",
                    f"`{own}` is given twice, with different values.",
                    "Give it once.",
                )
            )
        found[own] = value
    return found
