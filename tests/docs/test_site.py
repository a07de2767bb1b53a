"""The documentation as a website."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_website_has_every_page_without_a_broken_link_and_loads_nothing_from_elsewhere(
    tmp_path: Path,
) -> None:
    config = REPOSITORY / "scripts/site/mkdocs.yml"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "-f", config, "-d", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    for page in (REPOSITORY / "docs").glob("*.md"):
        html = (tmp_path / page.with_suffix(".html").name).read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img)[^>]* src=\"?([^\" >]+)", html)
        loaded += re.findall(r"<link rel=\"?stylesheet\"? href=\"?([^\" >]+)", html)
        assert loaded
        assert not [one for one in loaded if re.match(r"(https?:)?//", one)], page.name
