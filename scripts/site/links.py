"""Hook of MkDocs: links that leave `docs/` lead to the repository."""

import re
from typing import Any

OUTSIDE = re.compile(r"\]\(\.\./(?P<path>[^)\s]+)\)")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Return the text of a page with its links to files of the repository made absolute."""
    return OUTSIDE.sub(lambda link: f"]({config.repo_url}/blob/HEAD/{link['path']})", markdown)
