"""How soon the page shows its first papers after Enter.

    taskset -c 0,1 python tests/bench/page_bench.py [--library FOLDER/NAME]

Prints milliseconds (p50, p95) from Enter to the first frame with papers, in Chromium over a server of
its own, for different questions after one that loads everything; and the processor's time of the
server and its worker until then, which other programs slow less.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
from pathlib import Path
from typing import Any

import psutil
from corpus_library import corpus_library
from http_bench import SERVE, environment, shown, started, used
from playwright.sync_api import sync_playwright

QUESTIONS = (
    "graph attention networks", "machine translation with attention", "dialogue state tracking",
    "contrastive learning of sentence embeddings", "neural architecture search",
    "few shot relation extraction", "adversarial robustness certification",
    "speech recognition transformers", "domain adaptation segmentation",
    "variational inference flows", "coreference resolution", "question answering over tables",
    "knowledge distillation language models", "bandit regret bounds", "federated learning privacy",
    "point cloud detection",
)  # fmt: skip
PATIENCE = 120_000
FIRST_ROWS = """
(question) => new Promise((done) => {
  const begin = performance.now();
  const observer = new MutationObserver(() => {
    if (!document.querySelector(".paper") || !document.title.startsWith(question)) return;
    observer.disconnect();
    requestAnimationFrame(() => done(performance.now() - begin));
  });
  observer.observe(document, { childList: true, subtree: true });
  document.querySelector("#q").value = question;
  document.querySelector("#q").form.requestSubmit();
})
"""


def measure(page: Any, server: psutil.Process) -> None:
    """Ask each question once, and print the times."""

    def spent() -> float:
        return sum(map(used, (server, *server.children(recursive=True))))

    times, processor = [], []
    for question in QUESTIONS:
        before = spent()
        times.append(page.evaluate(FIRST_ROWS, question) / 1e3)
        processor.append(spent() - before)
        page.locator(".toolbar .busy").wait_for(state="detached")
    print(page.locator("#library-line").text_content())
    print(f"Enter to first papers: {shown(times)}; processor time of the server and its worker "
          f"{1e3 * statistics.median(processor):.0f} ms at the median")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="FOLDER/NAME of a library")
    given = parser.parse_args()
    path = given.library or corpus_library()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None or program is None:
        return
    with (
        environment(path) as env,
        started(SERVE, env) as (url, server),
        sync_playwright() as playwright,
    ):
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{url}/?q=attention")
        page.locator(".paper").first.wait_for()
        page.locator(".toolbar .busy").wait_for(state="detached")
        measure(page, server)
        browser.close()


if __name__ == "__main__":
    main()
