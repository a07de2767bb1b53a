"""What the container image runs, without a container engine: its build step in a clean environment,
its server and its health check; and the files around it."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
CONTAINERFILE = (REPOSITORY / "Containerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((REPOSITORY / "compose.yaml").read_text(encoding="utf-8"))
TOKEN = "a-token-of-this-test"
UNREACHABLE = re.compile(r"No matching distribution|Could not find a version|ConnectionError|Retry")


def instructions(name: str) -> list[str]:
    """The arguments of each instruction of this name in the Containerfile."""
    text = CONTAINERFILE.replace("\\\n", " ")
    return [" ".join(found.split()) for found in re.findall(rf"^{name} (.*)$", text, re.MULTILINE)]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the build step of the Containerfile makes."""
    if sys.platform == "win32":
        pytest.skip("the image is of Linux")
    if not any((REPOSITORY / "corpus_tools/starter/citewell_starter/library").glob("*")):
        pytest.skip("needs the starter library")
    (step,) = [one for one in instructions("RUN") if "install.sh" in one]
    folder = tmp_path_factory.mktemp("image") / "citewell"
    command = step.replace("/src/", f"{REPOSITORY}/").replace("/opt/citewell", str(folder))
    (extras,) = [one.partition("=")[2] for one in instructions("ARG") if one.startswith("EXTRAS=")]
    own = {name: value for name, value in os.environ.items() if "CITEWELL" not in name}
    run = subprocess.run(
        ["sh", "-c", command], env=own | {"EXTRAS": extras, "PYTHON": sys.executable},
        cwd=folder.parent, capture_output=True, text=True, timeout=1_200, check=False,
    )  # fmt: skip
    if run.returncode and UNREACHABLE.search(run.stderr):
        pytest.skip("needs a package index")
    assert run.returncode == 0, run.stderr
    return folder


def image_environment(folder: Path) -> dict[str, str]:
    """The environment of the image, and nothing else, with a home that cannot be written."""
    given = dict(pair.split("=", 1) for line in instructions("ENV") for pair in shlex.split(line))
    given["PATH"] = given["PATH"].replace("/opt/citewell", str(folder))
    if sys.platform == "linux":
        given |= {"HOME": "/proc/none", "CITEWELL_DATA": "/proc/none/data"}
        given["CITEWELL_CACHE"] = "/proc/none/cache"
    return given


@pytest.fixture
def running(installed: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The server as the image starts it, on a free port: the port and its environment."""
    own = image_environment(installed) | {"CITEWELL_HTTP_TOKEN": TOKEN}
    (entry,) = map(json.loads, instructions("ENTRYPOINT"))
    (command,) = map(json.loads, [one for one in instructions("CMD") if one.startswith('["serve')])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [str(installed / "bin" / entry[0]), *command, "--port", str(port)],
        env=own, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    errors: list[str] = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()), daemon=True)  # type: ignore[union-attr]
    reader.start()
    try:
        if not process.stdout.readline():
            process.wait(180)
            reader.join(60)
            raise AssertionError(f"the server ended: {errors}")
        yield port, own
        process.terminate()
        assert process.wait(180) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(180)


def test_what_is_built_answers_from_the_starter_and_is_healthy(
    installed: Path, running: tuple[int, dict[str, str]]
) -> None:
    port, own = running
    check = [str(installed / "bin" / "python"), str(installed / "healthcheck.py"), str(port)]
    assert subprocess.run(check, env=own, timeout=180, check=False).returncode == 0
    wrong = own | {"CITEWELL_HTTP_TOKEN": "another"}
    assert subprocess.run(check, env=wrong, timeout=180, check=False).returncode == 1
    url, admitted = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {TOKEN}"}
    found = httpx2.get(f"{url}/api/health", headers=admitted, timeout=300).json()
    assert found["status"] == "ok" and found["corpus"]["works"] > 300_000
    body = {"query": "attention is all you need", "k": 1}
    search = httpx2.post(f"{url}/v1/search", json=body, headers=admitted, timeout=300).json()
    assert search["papers"][0]["title"].lower() == "attention is all you need"
    assert httpx2.get(f"{url}/", timeout=300).status_code == 200
    assert httpx2.get(f"{url}/docs", timeout=300).status_code == 200


def test_without_a_token_the_image_does_not_serve(installed: Path) -> None:
    (command,) = map(json.loads, [one for one in instructions("CMD") if one.startswith('["serve')])
    run = subprocess.run(
        [str(installed / "bin" / "citewell"), *command], env=image_environment(installed),
        cwd="/", capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 2 and "CITEWELL_HTTP_TOKEN" in run.stderr


async def test_an_agent_finds_and_reads_a_paper_without_a_network(
    installed: Path, tmp_path: Path
) -> None:
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    (tmp_path / "paper.tex").write_text("Deep networks are trained \\cite<residual learning>.\n")
    command = [
        one.replace("/paper", str(tmp_path)) for one in COMPOSE["services"]["agent"]["command"]
    ]
    command = [str(installed / "bin" / "citewell"), *command]
    if sys.platform == "linux" and os.geteuid() == 0:
        command = ["unshare", "--net", *command]
    started = StdioServerParameters(
        command=command[0], args=command[1:], env=image_environment(installed)
    )
    async with Client(stdio_client(started)) as client:
        found = await client.call_tool("search_papers", {"query": "attention is all you need"})
        assert not found.is_error, found.content
        assert "Attention Is All You Need" in str(found.structured_content)
        filled = await client.call_tool("fill_document", {"path": "paper.tex"})
        assert not filled.is_error and "he2016" in str(filled.structured_content).lower()
    assert (tmp_path / "paper.tex").read_text().endswith("\\cite<residual learning>.\n")


def test_the_image_is_of_no_user_with_rights_and_names_its_health() -> None:
    assert instructions("USER") == ["10001:10001"]
    (health,) = instructions("HEALTHCHECK")
    assert health.endswith('CMD ["python", "/opt/citewell/healthcheck.py"]')
    assert instructions("VOLUME") == ["/data"] and "HOME=/data" in CONTAINERFILE


def test_everything_that_is_copied_is_there_and_sent_to_the_build() -> None:
    sent = (REPOSITORY / ".containerignore").read_text(encoding="utf-8").splitlines()
    assert (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines() == sent
    sources = [
        source
        for one in instructions("COPY")
        if not one.startswith("--from")
        for source in one.split()[:-1]
    ]
    assert sources and "*" in sent and "**/.env" in sent
    for source in sources:
        assert (REPOSITORY / source).exists() and f"!{source}" in sent


def schema(name: str) -> dict[str, Any]:
    """A schema that the package check-jsonschema ships."""
    check_jsonschema = pytest.importorskip("check_jsonschema", reason="needs check-jsonschema")
    folder = Path(check_jsonschema.__file__).parent / "builtin_schemas" / "vendor"
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found


def test_the_compose_file_is_one() -> None:
    import jsonschema

    validator = jsonschema.Draft202012Validator(schema("compose-spec"))
    assert [one.message for one in validator.iter_errors(COMPOSE)] == []
    broken = {**COMPOSE, "services": {"citewell": {"imag": "citewell"}}}
    assert not validator.is_valid(broken)


def test_every_service_has_a_volume_and_limits_and_only_this_machine_reaches_it() -> None:
    services = COMPOSE["services"]
    assert {name: one.get("profiles") for name, one in services.items()} == {
        "citewell": None, "agent": ["agent"], "ollama": ["ollama"], "qdrant": ["qdrant"],
    }  # fmt: skip
    for name, one in services.items():
        if name != "agent":
            volumes = [volume.split(":")[0] for volume in one["volumes"]]
            assert volumes and set(volumes) <= set(COMPOSE["volumes"]), name
        assert set(one["deploy"]["resources"]["limits"]) == {"cpus", "memory"}, name
        assert one["pids_limit"] and "no-new-privileges:true" in one["security_opt"], name
        assert all(port.startswith("127.0.0.1:") for port in one.get("ports", ())), name
    for name in ("citewell", "agent"):
        own = services[name]
        assert own["read_only"] is True and own["cap_drop"] == ["ALL"] and own["tmpfs"]
    agent = services["agent"]
    assert agent["network_mode"] == "none" and "ports" not in agent
    assert agent["volumes"] == ["${CITEWELL_PAPER:-.}:/paper:ro"]


def test_citewell_reads_no_env_file(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("CITEWELL_LIBRARY_NAME=none\nCITEWELL_FUSION=wrong\n")
    run = subprocess.run(
        [sys.executable, "-m", "citewell", "find", "--json", "attention is all you need"],
        env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["hits"] and found["problems"] == []
