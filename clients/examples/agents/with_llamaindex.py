"""Cite and verify with LlamaIndex: `python with_llamaindex.py FOLDER MODEL`."""

import asyncio
import os
import sys
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.tools.mcp import McpToolSpec
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

TASK = "Fill the citation placeholders of main.tex, then check refs.bib, and say what is wrong."


async def run(model: Any, folder: str, command: str = "citewell") -> str:
    """The agent's last words, after it has worked in a folder."""
    arguments = ["mcp", "--root", folder, "--allow-write"]
    server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    # One session for all calls: a client of LlamaIndex starts a server for each.
    async with stdio_client(server) as pipes, ClientSession(*pipes) as session:
        await session.initialize()
        tools = await McpToolSpec(session).to_tool_list_async()
        agent = FunctionAgent(tools=tools, llm=model)
        found = await agent.run(TASK)
    return str(found)


if __name__ == "__main__":
    from llama_index.llms.openai import OpenAI

    print(asyncio.run(run(OpenAI(sys.argv[2]), sys.argv[1])))
