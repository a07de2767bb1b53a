"""What an author waits for in a real VS Code: from a letter to the list, beside the editor's own floor.

    python tests/bench/vscode_bench.py [--library FOLDER/NAME] [--json out.json] [--idle SECONDS]

A real VS Code (scripts/install-vscode.sh) in headless Chromium, with the packaged extension. The
clock runs in the page: from the key event of a letter to the first frame in which the list shows
rows that stand for the words with that letter. The floor is an extension in the same window that
returns three constant items for plain text. Activation is what the editor itself says; the CPU at
rest is that of the server, its worker and the extension host together, while nothing is typed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parent))
from corpus_library import corpus_library
from lsp_bench import TOPICS
from rpc_client import percentiles

REPOSITORY = Path(__file__).resolve().parents[2]
FLOOR = """
const vscode = require("vscode");
exports.activate = () => vscode.languages.registerCompletionItemProvider("plaintext", {
  provideCompletionItems(document, at) {
    const line = document.lineAt(at).text;
    const start = line.lastIndexOf("<");
    if (start < 0) return;
    const items = ["one", "two", "three"].map((name) => {
      const item = new vscode.CompletionItem(name + line.length);
      item.filterText = line.slice(start, at.character);
      item.range = new vscode.Range(at.line, start, at.line, at.character);
      return item;
    });
    return new vscode.CompletionList(items, true);
  },
}, "<", " ");
"""
WATCH = """
() => {
  const shown = () => {
    const list = document.querySelector(".suggest-widget.visible .monaco-list-rows");
    return list ? list.innerText : "";
  };
  window.__waits = [];
  // A new list is drawn anew, row by row, also where it has the same rows.
  let drawn = false;
  new MutationObserver((changes) => {
    drawn ||= changes.some(({ target }) => target.parentElement?.closest(".suggest-widget .monaco-list-rows"));
  }).observe(document.body, { childList: true, characterData: true, subtree: true });
  addEventListener("keydown", () => {
    const began = performance.now();
    let answered = false;
    drawn = false;
    const look = () => {
      if (answered) return;
      if (drawn && shown() && !document.querySelector(".suggest-widget.message")) {
        answered = true;
        window.__waits.push(performance.now() - began);
      } else if (performance.now() - began < 5000) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, true);
}
"""


def load_driver() -> Any:
    path = REPOSITORY / "tests" / "e2e" / "vscode" / "driver.py"
    spec = spec_from_file_location("citewell_vscode_driver", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def floor_vsix(path: Path) -> Path:
    """The bare extension, packed."""
    manifest = {
        "name": "floor", "publisher": "bench", "version": "0.0.1", "main": "./main.js",
        "engines": {"vscode": "^1.96.0"}, "activationEvents": ["onLanguage:plaintext"],
    }  # fmt: skip
    described = (
        '<?xml version="1.0" encoding="utf-8"?><PackageManifest Version="2.0.0" xmlns="http://schemas'
        '.microsoft.com/developer/vsx-schema/2011"><Metadata><Identity Language="en-US" Id="floor"'
        ' Version="0.0.1" Publisher="bench"/><DisplayName>floor</DisplayName></Metadata><Installation>'
        '<InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Assets><Asset Type='
        '"Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json"/></Assets></PackageManifest>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("extension.vsixmanifest", described)
        archive.writestr("extension/package.json", json.dumps(manifest))
        archive.writestr("extension/main.js", FLOOR)
    return path


def letters_to_list(code: Any, queries: list[str], before: str) -> list[float]:
    """Milliseconds from each of the last letters of each query to a list that is new."""
    found: list[float] = []
    for query in queries:
        code.press("Control+End", "Enter")
        code.type(before + query[:-3], pause=30)
        code.wait_suggestion()
        for letter in query[-3:]:
            # The list of the letter before must be there: it is compared with.
            code.page.wait_for_timeout(250)
            seen = len(code.page.evaluate("window.__waits"))
            code.type(letter)
            try:
                code.page.wait_for_function(
                    "seen => window.__waits.length > seen", arg=seen, timeout=5000
                )
            except Exception:
                continue  # nothing was drawn
            found.append(code.page.evaluate("window.__waits.at(-1)"))
        code.press("Escape")
    return found


def activation_ms(code: Any) -> dict[str, float]:
    """Milliseconds by extension, as "Developer: Startup Performance" and the host's own log say."""
    code.command("Developer: Show Running Extensions")
    code.find(".runtime-extensions-editor .extension").first.wait_for()
    found = {}
    for row in code.find(".runtime-extensions-editor .extension").all():
        name = row.locator(".name").inner_text()
        time_ = row.locator(".activation-time").inner_text()
        if number := re.search(r"(\d+)\s*ms", time_):
            found[name] = float(number[1])
    return found


def cpu_at_rest(code: Any, seconds: float) -> dict[str, float]:
    """CPU seconds by kind of process over this time, with nothing typed."""

    def kind(process: psutil.Process) -> str:
        line = " ".join(process.cmdline())
        if "citewell" in line and "worker" in line:
            return "worker"
        if "citewell" in line and " lsp" in line:
            return "server"
        return "extension host" if "--type=extensionHost" in line else ""

    processes = {
        process: kind(process)
        for process in psutil.Process(code.code.process.pid).children(recursive=True)
        if kind(process)
    }

    def used() -> dict[str, float]:
        total: dict[str, float] = {}
        for process, name in processes.items():
            times = process.cpu_times()
            total[name] = total.get(name, 0.0) + times.user + times.system
        return total

    first = used()
    code.page.wait_for_timeout(seconds * 1000)
    last = used()
    return {name: round(last[name] - first[name], 3) for name in first}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="folder of a library; default: of ../shared")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--idle", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument("--queries", type=int, default=len(TOPICS))
    arguments = parser.parse_args()
    driver = load_driver()
    if not (driver.ENTRY.exists() and driver.VSIX.exists() and driver.browser_program()):
        print("skipped: no VS Code here; sh scripts/install-vscode.sh PYTHON")
        return
    library = arguments.library or corpus_library()
    if library is None:
        return
    with tempfile.TemporaryDirectory() as name:
        figures = measure(driver, library.absolute(), Path(name), arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


def measure(
    driver: Any, library: Path, folder: Path, arguments: argparse.Namespace
) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    extensions = folder / "extensions"
    for vsix in (driver.VSIX, floor_vsix(folder / "floor.vsix")):
        driver.install_extension(vsix, extensions, folder / f"install-{vsix.stem}")
    paper = folder / "paper"
    paper.mkdir()
    (paper / "paper.tex").write_text(
        "\\documentclass{article}\n\\begin{document}\nWe follow earlier work.\n", encoding="utf-8"
    )
    (paper / "floor.txt").write_text("Nothing.\n", encoding="utf-8")
    (folder / "config.toml").touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CITEWELL_")}
    environment = kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CITEWELL_CONFIG": str(folder / "config.toml"),
        "CITEWELL_CACHE": str(folder / "cache"),
        "CITEWELL_LIBRARY_PATH": str(library.parent),
        "CITEWELL_LIBRARY_NAME": library.name,
    }
    figures: dict[str, Any] = {"queries": arguments.queries, "load": os.getloadavg()}
    editor = driver.VisualStudioCode(folder / "code", extensions, environment, {})
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=driver.browser_program(), args=["--no-sandbox", "--disable-gpu"]
            )
            code = driver.Window(editor, browser, paper, folder / "shots")
            code.open("paper.tex")
            began = time.monotonic()
            code.wait_ready()
            print(f"server ready {time.monotonic() - began:.1f} s after the paper was open")
            code.page.evaluate(WATCH)
            queries = TOPICS[: arguments.queries]
            letters_to_list(code, queries[:2], " \\cite<")  # what is loaded at first use
            for name, file, before in (
                ("citewell", "paper.tex", " \\cite<"),
                ("floor", "floor.txt", " <"),
            ):
                code.open(file)
                taken = letters_to_list(code, queries, before)
                shown = percentiles([each / 1000 for each in taken])
                p50, p95 = shown["p50"], shown["p95"]
                figures[name] = {"p50_ms": p50, "p95_ms": p95, "letters": len(taken)}
                print(
                    f"{name}: letter to list p50 {p50:.0f} ms, p95 {p95:.0f} ms ({len(taken)} letters)"
                )
            figures["activation_ms"] = activation_ms(code)
            print(f"activation: {figures['activation_ms']}")
            code.open("paper.tex")
            code.page.wait_for_timeout(5000)
            figures["cpu_at_rest_s"] = cpu_at_rest(code, arguments.idle)
            print(f"CPU seconds in {arguments.idle:.0f} s at rest: {figures['cpu_at_rest_s']}")
            code.close()
            browser.close()
    finally:
        editor.close()
    return figures


if __name__ == "__main__":
    main()
