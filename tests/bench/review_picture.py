"""Take the picture of a review in the README: `python tests/bench/review_picture.py docs/images/review.png`.

The paper is that of the tests, with its planted faults; Chromium shows the HTML report.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.e2e.test_cli_review import STARTER, plant

CODES = (
    "undefined-key", "author-unrelated", "preprint-published", "name-uncited", "sentence-uncited",
    "venue-spelling",
)  # fmt: skip


def main(picture: Path) -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        plant(folder)
        chosen = [word for code in CODES for word in ("--select", code)]
        subprocess.run(
            [sys.executable, "-m", "citewell", "--library", "starter", "review", "paper.tex",
             "--format", "html", "--out", "report.html", "--fail-on", "never", *chosen],
            cwd=folder, env=os.environ | {"PYTHONPATH": str(STARTER.parent)}, check=True,
        )  # fmt: skip
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 964})
        page.goto((folder / "report.html").as_uri())
        page.screenshot(path=str(picture))
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
