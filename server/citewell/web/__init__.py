"""The web page of `citewell serve`: static files that use the JSON endpoints of their server.

No HTML is generated from records: the browser sets their text as text, and a strict policy
(`serving/problem_json.py`) prevents it from becoming markup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = ["open_page", "with_page"]


def with_page(app: ASGIApp) -> ASGIApp:
    """The application with the page at `/` and its files below `/assets/`."""
    from citewell.web.page import PageApp

    return PageApp(app)


def open_page(url: str, token: str = "") -> None:
    """Open the page in the user's browser, and print its address for a person at a terminal.

    A token is only printed: every user of the machine can read the arguments of a browser process.
    The page asks for it.
    """
    import threading
    import webbrowser

    from citewell.serving.run import notice

    notice(f"Page: {url}/#{token}" if token else f"Page: {url}/")
    # A browser in the terminal returns only when it ends.
    threading.Thread(target=webbrowser.open, args=(f"{url}/",), daemon=True).start()
