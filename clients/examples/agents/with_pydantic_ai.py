"""Cite and verify with Pydantic AI: `python with_pydantic_ai.py FOLDER MODEL`."""

import asyncio
import os
import sys
from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

TASK = "Fill the citation placeholders of main.tex, then check refs.bib, and say what is wrong."


async def run(model: Any, folder: str, command: str = "citewell") -> str:
    """The agent's last words, after it has worked in a folder."""
    arguments = ["mcp", "--root", folder, "--allow-write"]
    server = StdioTransport(command, arguments, env=dict(os.environ))
    agent = Agent(model, toolsets=[MCPToolset(server, include_instructions=True)])
    async with agent:
        found = await agent.run(TASK)
    return found.output


if __name__ == "__main__":
    print(asyncio.run(run(sys.argv[2], sys.argv[1])))
