"""A real VS Code in a real browser, spoken to in an author's words.

`VisualStudioCode` is the editor's server process (code-server) with folders of its own;
`Window` is one window of it, a page of a headless Chromium that Playwright drives. Keys go through
the browser's keyboard, and what is read is what stands on the screen or on the disk.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, FrameLocator, Locator, Page
from playwright.sync_api import TimeoutError as Late

REPOSITORY = Path(__file__).parents[3]
PLACE = REPOSITORY / ".cache" / "vscode"
ENTRY = PLACE / "node_modules" / "code-server" / "out" / "node" / "entry.js"
VSIX = PLACE / "citewell.vsix"
PATIENCE = float(os.environ.get("CITEWELL_TEST_PATIENCE", "90"))
"""Seconds to wait for anything that will happen; long, since other tests may hold the cores."""
TRUST = "security.workspace.trust.enabled"
"""The setting under which the editor asks whether the authors of a folder are trusted."""
QUIET: dict[str, Any] = {
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "window.autoDetectColorScheme": True,
    TRUST: False,
    "telemetry.telemetryLevel": "off",
    "chat.commandCenter.enabled": False,
    "chat.disableAIFeatures": True,
    "editor.fontFamily": "DejaVu Sans Mono",
    "editor.minimap.enabled": False,
    "editor.cursorBlinking": "solid",
    "editor.wordWrap": "on",
    "files.autoSave": "off",
    "extensions.ignoreRecommendations": True,
    "git.enabled": False,
    "remote.autoForwardPorts": False,
}
"""What would show things that no test is about, or change them at its own times."""


def browser_program() -> str | None:
    """The Chromium of this machine, as scripts/install-vscode.sh looks for it."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def until(condition: Callable[[], Any], what: Callable[[], str], seconds: float = PATIENCE) -> Any:
    """The first true value of `condition`; `what` says, after that time, what there was instead."""
    limit = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > limit:
            raise AssertionError(f"not within {seconds:.0f} s: {what()}")
        time.sleep(0.05)
    return value


class VisualStudioCode:
    """The server process of the editor: settings, extensions and environment of its own."""

    def __init__(
        self, folder: Path, extensions: Path, environment: dict[str, str], settings: dict[str, Any]
    ) -> None:
        self.folder = folder
        self.user = folder / "user"
        (self.user / "User").mkdir(parents=True)
        wanted = json.dumps(QUIET | settings, indent=2)
        (self.user / "User" / "settings.json").write_text(wanted, encoding="utf-8")
        config = write_config(folder)
        self.log = (folder / "code-server.log").open("wb")
        self.process = subprocess.Popen(
            [
                *node_command(environment),
                *("--config", config, "--user-data-dir", self.user, "--extensions-dir", extensions),
                *("--disable-telemetry", "--disable-update-check"),
                *(() if settings.get(TRUST) else ("--disable-workspace-trust",)),
                "--disable-getting-started-override",
            ],
            # As one started from a terminal: no login shell is asked for another PATH.
            env=environment | {"HOME": str(folder), "VSCODE_CLI": "1"},
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.address = until(self._address, self.log_text)

    def _address(self) -> str:
        assert self.process.poll() is None, self.log_text()
        found = re.search(r"listening on (http://\S+?)/?\s", self.log_text())
        return found[1] if found else ""

    def log_text(self) -> str:
        return (self.folder / "code-server.log").read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()


def node_command(environment: dict[str, str]) -> list[str]:
    node = shutil.which("node") or shutil.which("node", path=environment.get("PATH"))
    assert node is not None
    return [node, str(ENTRY)]


def write_config(folder: Path) -> Path:
    """Settings of the server itself: on the loopback interface, at whatever port is free."""
    path = folder / "code-server.yaml"
    path.write_text("bind-addr: 127.0.0.1:0\nauth: none\ncert: false\n", encoding="utf-8")
    return path


def install_extension(vsix: Path, extensions: Path, folder: Path) -> None:
    """Install a .vsix as `code --install-extension` does."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [
            *node_command(dict(os.environ)),
            *("--config", write_config(folder), "--user-data-dir", folder / "user"),
            *("--extensions-dir", extensions, "--install-extension", vsix),
        ],
        env=dict(os.environ) | {"HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert "successfully installed" in done.stdout, done.stdout + done.stderr


class Window:
    """One window with a folder open."""

    def __init__(
        self,
        code: VisualStudioCode,
        browser: Browser,
        folder: Path,
        shots: Path,
        beside: Window | None = None,
    ) -> None:
        """`beside` is another window of the same browser, with which this one shares what the
        editor keeps in there."""
        self.code = code
        self.folder = folder
        self.shots = shots
        size = {"width": 1280, "height": 800}
        self.context = beside.context if beside else browser.new_context(viewport=size)
        self._owns_context = beside is None
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)
        self.page.goto(f"{code.address}/?folder={folder}")
        self.find(".monaco-workbench .part.editor").wait_for()
        self.find(".explorer-folders-view .monaco-list-row").first.wait_for()

    def close(self) -> None:
        if self._owns_context:
            self.context.close()
        else:
            self.page.close()

    # -- keys and what is on the screen ----------------------------------------------------------

    def find(self, selector: str, **filters: Any) -> Locator:
        return self.page.locator(selector, **filters)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str, pause: float = 40) -> None:
        """Letter by letter, with `pause` milliseconds between them: a quick typist."""
        self.page.keyboard.type(text, delay=pause)

    def texts(self, selector: str) -> list[str]:
        """The words of everything that matches, blanks made alike."""
        return [" ".join(text.split()) for text in self.find(selector).all_inner_texts()]

    def wait(self, condition: Callable[[], Any], seconds: float = PATIENCE) -> Any:
        """Until it is true; a picture is kept when it never is."""

        def now() -> Any:
            # Evaluating in the page also lets the driver hear the browser's events.
            self.page.evaluate("0")
            return condition()

        try:
            return until(now, lambda: f"{self.messages()}\n{self.seen()[:3000]}", seconds)
        except AssertionError:
            self.screenshot("failed")
            raise

    def seen(self) -> str:
        """The whole window's words."""
        return str(self.page.evaluate("document.body.innerText"))

    # -- commands and files ---------------------------------------------------------------------

    def command(self, title: str) -> None:
        """Choose a command of the palette by its whole title.

        A list that closes late may take the palette with it, which is then opened again.
        """
        box = self.find(".quick-input-widget:visible input[type=text]").first
        row = self.find(".quick-input-widget:visible .monaco-list-row", has_text=title).first

        def is_chosen() -> bool:
            self.press("F1")
            if not self._comes(box, "visible"):
                return False
            try:
                box.fill(f">{title}", timeout=3000)
                row.click(timeout=3000)
            except Late:
                return False
            return True

        self.wait(is_chosen)

    def choose(self, row: str) -> None:
        """Choose the row of the open list that holds these words."""
        self.find(".quick-input-widget:visible .monaco-list-row", has_text=row).first.click()

    def choose_file(self, path: Path, dialog: str) -> None:
        """Type a path into the editor's dialog of files, whose title or button says `dialog`.

        The dialog drops what is typed before it has read its folder, and an Enter while it reads
        another one; so, as an author would, look and type again.
        """
        box = self.find(".quick-input-widget:visible", has_text=dialog)
        row = box.locator(".monaco-list-row", has_text=path.name).first
        box.wait_for()

        def taken() -> bool:
            # In one go: between letters the dialog completes what it takes for the next folder.
            box.locator("input[type=text]").fill(str(path))
            if not self._comes(row, "visible"):
                return False
            self.press("Enter")
            return self._comes(box, "hidden")

        self.wait(taken)

    def _comes(self, what: Locator, state: Literal["visible", "hidden"]) -> bool:
        try:
            what.wait_for(state=state, timeout=3000)
        except Late:
            return False
        return True

    def open(self, name: str) -> None:
        """Open a file of the folder by its name, and wait for its text."""
        self.press("Control+p")
        box = self.find(".quick-input-widget:visible input")
        # An absolute path is opened without ripgrep, which is not built.
        box.fill(str(self.folder / name))
        last = name.rsplit("/", 1)[-1]
        self.find(f'.quick-input-widget .monaco-list-row[aria-label^="{last}"]').first.click()
        self.find(f'.tab.active[data-resource-name="{last}"]').wait_for()
        self.editor.locator(".view-line").first.wait_for()

    @property
    def editor(self) -> Locator:
        """The editor that has the focus, or had it last."""
        return self.find(".editor-group-container.active .editor-instance .monaco-editor").first

    def goto(self, line: int, column: int = 1) -> None:
        """Put the cursor there, counted from one."""
        self.press("Control+g")
        box = self.find(".quick-input-widget:visible input")
        box.fill(f":{line}:{column}")
        self.find(".quick-input-widget .monaco-list-row", has_text=f"line {line}").first.wait_for()
        self.press("Enter")
        self.find(".quick-input-widget").wait_for(state="hidden")
        self.wait(lambda: f"Ln {line}, Col {column}" in self.status())

    def goto_text(self, name: str, needle: str, after: bool = False) -> None:
        """Put the cursor before (or after) the first place of `needle` in the file on the disk."""
        text = (self.folder / name).read_text(encoding="utf-8")
        at = text.index(needle) + (len(needle) if after else 0)
        before = text[:at]
        self.goto(before.count("\n") + 1, at - before.rfind("\n"))

    def save_all(self) -> None:
        """Save every file that was changed."""
        self.command("File: Save All")
        self.find(".tab.dirty").first.wait_for(state="detached")

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def dirty(self) -> set[str]:
        """Names of the files that are open and changed."""
        tabs = self.find(".tab.dirty").all()
        return {str(tab.get_attribute("data-resource-name")) for tab in tabs}

    def wait_ready(self) -> None:
        """Until the server runs and has opened its library: the status bar then counts papers."""
        self.wait(lambda: " papers" in self.citewell())

    def citewell(self) -> str:
        """What the extension's item in the status bar says, its tooltip included."""
        item = self.find('.statusbar-item[id="citewell.citewell.citewell"]')
        return str(item.get_attribute("aria-label")) if item.count() else ""

    def status(self) -> str:
        return " | ".join(self.texts(".part.statusbar .statusbar-item"))

    def messages(self) -> list[str]:
        """The notifications that stand on the screen, each with the titles of its buttons."""
        return self.texts(".notifications-toasts .notification-list-item")

    def message(self, words: str) -> Locator:
        """The notification that holds these words."""
        toast = self.find(".notifications-toasts .notification-list-item", has_text=words).first
        toast.wait_for()
        return toast

    def answer(self, words: str, button: str) -> None:
        """Press a button of the notification that holds these words."""
        self.message(words).locator(".monaco-button", has_text=button).first.click()

    # -- completion -----------------------------------------------------------------------------

    SUGGESTIONS = ".suggest-widget.visible .monaco-list-row"

    def suggestions(self) -> list[str]:
        """The labels in the list, as far as they are on the screen."""
        return self.texts(f"{self.SUGGESTIONS} .label-name")

    def wait_suggestion(self, words: str = "") -> Locator:
        """The first row that holds these words, when the list is there."""
        row = self.find(self.SUGGESTIONS, has_text=words).first
        row.wait_for()
        return row

    def accept(self, words: str = "") -> str:
        """Accept the first row (that holds these words); its label."""
        row = self.wait_suggestion(words)
        label = " ".join(row.locator(".label-name").inner_text().split())
        if words:
            row.click()
        else:
            self.press("Enter")
        self.find(".suggest-widget.visible").wait_for(state="hidden")
        return label

    # -- what stands beside the text -------------------------------------------------------------

    def hover(self, words: str) -> str:
        """Show the hover at the cursor; its words, when they hold `words`."""
        self.command("Show or Focus Hover")
        card = self.find(".monaco-hover:visible .hover-contents", has_text=words).first
        card.wait_for()
        return " ".join(card.inner_text().split())

    def problems(self) -> list[str]:
        """The rows of the Problems panel, opened when it is not."""
        if not self.find(".markers-panel").is_visible():
            self.command("Problems: Focus on Problems View")
        self.find(".markers-panel").wait_for()
        return self.texts(".markers-panel .monaco-list-row")

    def fixes(self) -> list[str]:
        """Open the menu of quick fixes at the cursor; its titles."""
        rows = self.find(".action-widget .monaco-list-row.action")

        def shown() -> bool:
            # What is asked before the server has looked again at a changed text finds nothing.
            self.press("Control+.")
            return self._comes(rows.first, "visible")

        self.wait(shown)
        return self.texts(".action-widget .monaco-list-row.action")

    def fix(self, words: str) -> None:
        """Choose the quick fix at the cursor that holds these words."""
        titles = self.fixes()
        at = next((n for n, title in enumerate(titles) if words in title), None)
        assert at is not None, titles
        chosen = self.find(".action-widget .monaco-list-row.focused", has_text=words)
        for _ in range(at):
            self.press("ArrowDown")
        chosen.wait_for()
        self.press("Enter")
        self.find(".action-widget").wait_for(state="hidden")

    def webview(self) -> FrameLocator:
        """The page in the only webview."""
        outer = self.page.frame_locator("iframe.webview.ready")
        return outer.frame_locator("#active-frame")

    # -- pictures ------------------------------------------------------------------------------

    def theme(self, name: str) -> None:
        """ "light" or "dark", as the system tells the editor."""
        self.page.emulate_media(color_scheme="dark" if name == "dark" else "light")
        wanted = ".monaco-workbench.vs-dark" if name == "dark" else ".monaco-workbench.vs"
        self.find(wanted).wait_for()

    def screenshot(self, name: str, **options: Any) -> Path:
        self.shots.mkdir(parents=True, exist_ok=True)
        path = self.shots / f"{name}.png"
        self.page.mouse.move(700, 4)  # nothing is hovered there
        self.page.screenshot(path=path, animations="disabled", **options)
        return path

    def screenshots(self, name: str) -> list[Path]:
        """The window as it stands, in the light and in the dark theme."""
        paths = []
        for theme in ("dark", "light"):
            self.theme(theme)
            paths.append(self.screenshot(f"{name}-{theme}"))
        return paths

    def shortened(self, selector: str) -> list[str]:
        """The words of what matches and does not show all of them in its own width."""
        return list(
            self.page.evaluate(
                """selector => [...document.querySelectorAll(selector)]
                    .filter(e => e.offsetWidth && e.scrollWidth > e.offsetWidth + 1)
                    .map(e => e.innerText)""",
                selector,
            )
        )

    def cut_off(self, selector: str) -> list[str]:
        """The words of what matches and reaches beyond the window's edges."""
        return list(
            self.page.evaluate(
                """selector => [...document.querySelectorAll(selector)].filter(e => {
                    const r = e.getBoundingClientRect();
                    return r.width && (r.left < 0 || r.top < 0 || r.right > innerWidth + 1
                        || r.bottom > innerHeight + 1);
                }).map(e => e.innerText)""",
                selector,
            )
        )


__all__ = [
    "ENTRY", "PLACE", "REPOSITORY", "VSIX", "Late", "VisualStudioCode", "Window",
    "browser_program", "install_extension", "until",
]  # fmt: skip
