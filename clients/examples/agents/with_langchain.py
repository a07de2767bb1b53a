"""Cite and verify with LangChain: `python with_langchain.py FOLDER MODEL`."""

import asyncio
import os
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

TASK = "Fill the citation placeholders of main.tex, then check refs.bib, and say what is wrong."


async def run(model: Any, folder: str, command: str = "citewell") -> str:
    """The agent's last words, after it has worked in a folder."""
    arguments = ["mcp", "--root", folder, "--allow-write"]
    server = {
        "transport": "stdio", "command": command, "args": arguments, "env": dict(os.environ),
    }  # fmt: skip
    client = MultiServerMCPClient({"citewell": server})
    async with client.session("citewell") as session:
        agent = create_agent(model, await load_mcp_tools(session))
        found = await agent.ainvoke({"messages": [("user", TASK)]})
    return str(found["messages"][-1].content)


if __name__ == "__main__":
    print(asyncio.run(run(sys.argv[2], sys.argv[1])))
