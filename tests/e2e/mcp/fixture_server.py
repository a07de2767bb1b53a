"""Our server, on our HTTP transport, with the tools, resources and prompts that the conformance
suite calls beside ours. Started as a process by test_conformance.py; no user ever has these.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SamplingMessage,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field

from citewell.engine.worker_client import WorkerEngine
from citewell.mcp.server import create_server
from citewell.mcp.transport import serve_http
from citewell.options import Options

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
WAV = base64.b64encode(
    b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00"
    b"\x40\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00"
).decode()
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text_resource(uri: str, text: str, kind: str = "text/plain") -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=kind, text=text)
    return EmbeddedResource(type="resource", resource=contents)


def image() -> ImageContent:
    return ImageContent(type="image", data=PNG, mime_type="image/png")


def add_content_tools(server: MCPServer[Any]) -> None:
    """Tools that answer with each kind of content."""

    @server.tool()
    def test_simple_text() -> str:
        """Answers with text."""
        return "This is a simple text response for testing."

    @server.tool(structured_output=False)
    def test_image_content() -> ImageContent:
        """Answers with an image."""
        return image()

    @server.tool(structured_output=False)
    def test_audio_content() -> AudioContent:
        """Answers with a sound."""
        return AudioContent(type="audio", data=WAV, mime_type="audio/wav")

    @server.tool(structured_output=False)
    def test_embedded_resource() -> EmbeddedResource:
        """Answers with a resource."""
        return text_resource("test://embedded-resource", "This is an embedded resource content.")

    @server.tool(structured_output=False)
    def test_multiple_content_types() -> list[Any]:
        """Answers with several kinds."""
        data = json.dumps({"test": "data", "value": 123})
        return [
            TextContent(type="text", text="Multiple content types test:"),
            image(),
            text_resource("test://mixed-content-resource", data, "application/json"),
        ]

    @server.tool()
    def test_error_handling() -> str:
        """Always fails."""
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool()
    def json_schema_2020_12_tool(name: str = "", address: dict[str, str] | None = None) -> str:
        """Its schema has features of JSON Schema 2020-12."""
        return name

    server._tool_manager._tools["json_schema_2020_12_tool"].parameters = SCHEMA


class Person(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


def add_talking_tools(server: MCPServer[Any]) -> None:
    """Tools that speak to the client while they work."""

    @server.tool()
    async def test_tool_with_logging(ctx: Context) -> str:
        """Logs three lines."""
        for line in ("started", "", "completed"):
            await ctx.info(f"Tool execution {line}" if line else "Tool processing data")
            await anyio.sleep(0.05)
        return "Tool with logging executed successfully"

    @server.tool()
    async def test_tool_with_progress(ctx: Context) -> str:
        """Reports progress thrice."""
        for progress in (0, 50, 100):
            await ctx.report_progress(progress, 100)
            await anyio.sleep(0.05)
        return "done"

    @server.tool()
    async def test_sampling(prompt: str, ctx: Context) -> str:
        """Asks the client's model."""
        found = await ctx.session.create_message(
            messages=[SamplingMessage(role="user", content=TextContent(type="text", text=prompt))],
            max_tokens=100,
        )
        return f"LLM response: {found.content}"

    @server.tool()
    async def test_elicitation(message: str, ctx: Context) -> str:
        """Asks the user."""
        found = await ctx.elicit(message=message, schema=Person)
        return f"User response: {found}"

    @server.tool()
    def test_missing_capability(ctx: Context) -> str:
        """Needs a client that can sample."""
        declared = ctx.client_capabilities
        if declared is None or declared.sampling is None:
            raise MCPError(
                MISSING_REQUIRED_CLIENT_CAPABILITY,
                "This tool needs sampling.",
                {"requiredCapabilities": {"sampling": {}}},
            )
        return "The client can sample."

    @server.tool()
    async def test_trigger_tool_change(ctx: Context) -> str:
        """Says that the tools have changed."""
        await ctx.notify_tools_changed()
        return "told"

    @server.tool()
    async def test_trigger_prompt_change(ctx: Context) -> str:
        """Says that the prompts have changed."""
        await ctx.notify_prompts_changed()
        return "told"

    async def elicit(ctx: Context, properties: dict[str, Any]) -> str:
        schema = {"type": "object", "properties": properties, "required": []}
        found = await ctx.session.elicit_form(
            message="Please fill in.", requested_schema=schema, related_request_id=ctx.request_id
        )
        return f"Elicitation completed: action={found.action}, content={found.content}"

    @server.tool()
    async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
        """Asks with defaults."""
        return await elicit(
            ctx,
            {
                "name": {"type": "string", "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {
                    "type": "string",
                    "enum": ["active", "inactive", "pending"],
                    "default": "active",
                },
                "verified": {"type": "boolean", "default": True},
            },
        )

    @server.tool()
    async def test_elicitation_sep1330_enums(ctx: Context) -> str:
        """Asks with each kind of choice."""
        plain = ["option1", "option2", "option3"]
        titled = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
        return await elicit(
            ctx,
            {
                "untitledSingle": {"type": "string", "enum": plain},
                "titledSingle": {"type": "string", "oneOf": titled},
                "legacyEnum": {
                    "type": "string",
                    "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"],
                },
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
                "titledMulti": {"type": "array", "items": {"anyOf": titled}},
            },
        )


def add_data(server: MCPServer[Any]) -> None:
    """Resources and prompts."""

    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """A text."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """An image."""
        return base64.b64decode(PNG)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        """A template."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource", mime_type="text/plain")
    def watched() -> str:
        """A text that is watched."""
        return "Watched resource content"

    @server.prompt()
    def test_simple_prompt() -> str:
        """A prompt."""
        return "This is a simple prompt for testing."

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """A prompt with arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803
        """A prompt with a resource."""
        return [
            UserMessage(text_resource(resourceUri, "Embedded resource content for testing.")),
            UserMessage("Please process the embedded resource above."),
        ]

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """A prompt with an image."""
        return [UserMessage(image()), UserMessage("Please analyze the image above.")]


def add_subscriptions(server: MCPServer[Any]) -> None:
    """Of the older versions; Citewell's own resources change too seldom for them."""

    async def accept(ctx: Any, params: Any) -> EmptyResult:
        return EmptyResult()

    low = server._lowlevel_server
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, accept)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, accept)


def main() -> None:
    engine = WorkerEngine(Options())
    try:
        server = create_server(Options(), engine, shared=True)
        for add in (add_content_tools, add_talking_tools, add_data, add_subscriptions):
            add(server)
        serve_http(server, "127.0.0.1", 0, settings=Options().serve)
    finally:
        engine.close()


if __name__ == "__main__":
    main()
