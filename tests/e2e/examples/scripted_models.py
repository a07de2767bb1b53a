"""Runs an example with a model that follows a script: `python scripted_models.py EXAMPLE FOLDER COMMAND`.

A model of each framework calls the tools of the script one by one, and at the end says the text of
all results that it was given. Runs in the environment of the examples, which lacks Citewell.
"""

import asyncio
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("find_citations", {"text": "Graph attention networks weigh their neighbours [CITATION]."}),
    ("fill_document", {"path": "main.tex", "write": True}),
    ("check_references", {"path": "refs.bib", "verified_too": True}),
    ("search_papers", {"query": "attention", "k": 500}),
]


def pydantic_ai() -> Any:
    """A model of Pydantic AI."""
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages: Any, info: Any) -> ModelResponse:
        results = [
            part for message in messages for part in message.parts
            if part.part_kind in ("tool-return", "retry-prompt")
        ]  # fmt: skip
        if len(results) < len(SCRIPT):
            return ModelResponse(parts=[ToolCallPart(*SCRIPT[len(results)])])
        texts = [one.content if isinstance(one.content, str) else json.dumps(one.content)
                 for one in results]  # fmt: skip
        return ModelResponse(parts=[TextPart("\n".join(texts))])

    return FunctionModel(answer)


def openai_agents() -> Any:
    """A model of the OpenAI Agents SDK."""
    from agents import Model, ModelResponse, Usage, set_tracing_disabled
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    set_tracing_disabled(True)

    class Scripted(Model):
        async def get_response(self, *_: Any, input: Any = "", **__: Any) -> ModelResponse:
            items = [one for one in input if isinstance(one, dict)]
            results = [one for one in items if one.get("type") == "function_call_output"]
            output: Any
            if len(results) < len(SCRIPT):
                name, arguments = SCRIPT[len(results)]
                output = ResponseFunctionToolCall(
                    type="function_call", call_id=f"call{len(results)}", name=name,
                    arguments=json.dumps(arguments),
                )  # fmt: skip
            else:
                text = "\n".join(texts_of(one["output"]) for one in results)
                part = ResponseOutputText(type="output_text", text=text, annotations=[])
                output = ResponseOutputMessage(
                    id="end", type="message", role="assistant", status="completed", content=[part]
                )
            return ModelResponse(output=[output], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    return Scripted()


def langchain() -> Any:
    """A model of LangChain."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            results = [one for one in messages if isinstance(one, ToolMessage)]
            if len(results) < len(SCRIPT):
                name, arguments = SCRIPT[len(results)]
                call = {"name": name, "args": arguments, "id": f"call{len(results)}"}
                message = AIMessage("", tool_calls=[call])
            else:
                message = AIMessage("\n".join(texts_of(one.content) for one in results))
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Scripted()


def llamaindex() -> Any:
    """A model of LlamaIndex."""
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
    from llama_index.core.llms.mock import MockFunctionCallingLLM

    def answer(messages: Any, **_: Any) -> ChatMessage:
        results = [one for one in messages if one.role == "tool"]
        if len(results) < len(SCRIPT):
            name, arguments = SCRIPT[len(results)]
            call = ToolCallBlock(
                tool_call_id=f"call{len(results)}", tool_name=name, tool_kwargs=arguments
            )
            return ChatMessage(role="assistant", blocks=[call])
        return ChatMessage(role="assistant", content="\n".join(f"{one.content}" for one in results))

    return MockFunctionCallingLLM(response_generator=answer)


def smolagents() -> Any:
    """A model of smolagents."""
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        MessageRole,
        Model,
    )

    class Scripted(Model):
        def generate(self, messages: Any, **_: Any) -> ChatMessage:
            results = [one for one in messages if one.role == MessageRole.TOOL_RESPONSE]
            name, arguments = (
                "final_answer",
                {"answer": "\n".join(texts_of(one.content) for one in results)},
            )
            if len(results) < len(SCRIPT):
                name, arguments = SCRIPT[len(results)]
            function = ChatMessageToolCallFunction(name=name, arguments=arguments)
            call = ChatMessageToolCall(id=f"call{len(results)}", type="function", function=function)
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])

    return Scripted()


def texts_of(content: Any) -> str:
    """The text of a result, in whatever form a framework gives it; links have none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(one.get("text", "") if isinstance(one, dict) else str(one) for one in parts)


MODELS = {
    "pydantic_ai": pydantic_ai, "openai_agents": openai_agents, "langchain": langchain,
    "llamaindex": llamaindex, "smolagents": smolagents,
}  # fmt: skip


def main() -> None:
    """Run the example and print its last words."""
    path, folder, command = sys.argv[1:]
    spec = importlib.util.spec_from_file_location("example", path)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    model = MODELS[Path(path).stem.removeprefix("with_")]()
    found = example.run(model, folder, command)
    print(found if isinstance(found, str) else asyncio.run(found))


if __name__ == "__main__":
    main()
