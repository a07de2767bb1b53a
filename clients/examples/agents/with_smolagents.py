"""Cite and verify with smolagents: `python with_smolagents.py FOLDER MODEL`."""

import os
import sys
from typing import Any

from mcp import StdioServerParameters
from smolagents import InferenceClientModel, MCPClient, ToolCallingAgent

TASK = "Fill the citation placeholders of main.tex, then check refs.bib, and say what is wrong."


def run(model: Any, folder: str, command: str = "citewell") -> str:
    """The agent's last words, after it has worked in a folder."""
    arguments = ["mcp", "--root", folder, "--allow-write"]
    server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    with MCPClient(server, structured_output=True) as tools:
        # The adapter takes every parameter as required; the server names one that is missing.
        for parameter in (one for tool in tools for one in tool.inputs.values()):
            parameter["nullable"] = True
        return str(ToolCallingAgent(tools=tools, model=model).run(TASK))


if __name__ == "__main__":
    print(run(InferenceClientModel(sys.argv[2]), sys.argv[1]))
