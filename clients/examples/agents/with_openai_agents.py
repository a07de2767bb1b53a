"""Cite and verify with the OpenAI Agents SDK: `python with_openai_agents.py FOLDER MODEL`."""

import asyncio
import os
import sys
from typing import Any

from agents import Agent, Runner
from agents.mcp import MCPServerStdio

TASK = "Fill the citation placeholders of main.tex, then check refs.bib, and say what is wrong."


async def run(model: Any, folder: str, command: str = "citewell") -> str:
    """The agent's last words, after it has worked in a folder."""
    arguments = ["mcp", "--root", folder, "--allow-write"]
    server = MCPServerStdio(
        {"command": command, "args": arguments, "env": dict(os.environ)},
        cache_tools_list=True,
        # The first search loads the library.
        client_session_timeout_seconds=60,
    )
    async with server:
        agent = Agent(name="Author", model=model, mcp_servers=[server])
        found = await Runner.run(agent, TASK)
    return str(found.final_output)


if __name__ == "__main__":
    print(asyncio.run(run(sys.argv[2], sys.argv[1])))
