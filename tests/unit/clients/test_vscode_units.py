"""The VS Code extension's own tests and its package. They need Node.js 20."""

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "clients" / "vscode"
MOST_BYTES = 600_000
"""Of the one script that the editor loads."""


@pytest.fixture(scope="module")
def npm() -> str:
    """npm with the extension's packages, which `make test` installs where there is Node.js."""
    found = shutil.which("npm")
    if found is None or shutil.which("node") is None:
        pytest.skip("there is no Node.js here")
    if not (FOLDER / "node_modules" / "esbuild").is_dir():
        pytest.skip("the packages of the extension are not installed (make vsix)")
    return found


def run(npm: str, *arguments: str) -> str:
    done = subprocess.run(
        [npm, "--silent", "run", *arguments],
        cwd=FOLDER,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_unit_tests_pass(npm: str) -> None:
    assert "# fail 0" in run(npm, "test")


def test_the_package_holds_what_the_manifest_names_and_no_more(npm: str, tmp_path: Path) -> None:
    package = tmp_path / "citewell.vsix"
    run(npm, "package", "--", "-o", str(package))
    manifest = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    with zipfile.ZipFile(package) as archive:
        names = {name.removeprefix("extension/") for name in archive.namelist()}
        assert archive.getinfo("extension/dist/extension.js").file_size < MOST_BYTES
    contributes = manifest["contributes"]
    wanted = {
        manifest["main"].removeprefix("./"),
        manifest["icon"],
        contributes["viewsContainers"]["activitybar"][0]["icon"],
        *(step["media"]["markdown"] for step in contributes["walkthroughs"][0]["steps"]),
    }
    assert wanted <= names
    assert not [name for name in names if name.startswith(("src/", "test/", "node_modules/"))]
