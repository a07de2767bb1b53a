"""The user's folders: settings, data, and cache."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar


class Stored(NamedTuple):
    """Something stored in one of the folders."""

    folder: Literal["data", "cache", "settings"]
    name: str
    contents: str
    written: str


STORED = (
    Stored(
        "data",
        "libraries",
        "libraries, the works fetched for them, and accepted records of sources",
        "by `citewell library`, and when you accept a record",
    ),
    Stored(
        "data",
        "history.sqlite",
        "papers that you accepted or dismissed; no word of a manuscript",
        "when you accept a paper ([learning from use](learning.md))",
    ),
    Stored(
        "data",
        "llm-usage.sqlite",
        "numbers of requests and tokens by day and model; no text",
        "when a language model is asked",
    ),
    Stored(
        "data",
        "programs",
        "prompts with the examples that `tune` added",
        "by `citewell tune`",
    ),
    Stored(
        "cache",
        "arrays",
        "unpacked data of the package, and tables computed from libraries",
        "at the first search",
    ),
    Stored("cache", "checks.sqlite", "results of checks of references", "by checks with sources"),
    Stored(
        "cache",
        "sources",
        "answers of sources, and pauses that they asked for",
        "when a source is asked",
    ),
    Stored("cache", "evaluation", "libraries made by `eval`", "by `citewell eval`"),
    Stored("cache", "mcp-write.lock", "an empty lock file", "by `citewell mcp`"),
    Stored("cache", "torch", "compiled models", "by models of torch"),
    Stored("settings", "config.toml", "your settings", "by you, and by `citewell sources allow`"),
)
"""Everything that is written beyond the files that you name; a traced run of each command keeps
this complete."""
DATA_VARIABLE = "CITEWELL_DATA"
CACHE_VARIABLE = "CITEWELL_CACHE"
_NAME = "citewell"


def working_folder() -> Path:
    """The working folder of the process; the home folder if it was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path.home()


def config_folder() -> Path:
    """The user's configuration folder."""
    from platformdirs import user_config_path

    return user_config_path(_NAME, appauthor=False)


def data_folder() -> Path:
    """The folder in `CITEWELL_DATA`, else the user's data folder: libraries, unless a setting names
    another place, and a few small files.
    """
    if named := os.environ.get(DATA_VARIABLE):
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path(_NAME, appauthor=False)


def cache_folder() -> Path:
    """The folder in `CITEWELL_CACHE`, else the user's cache folder."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path(_NAME, appauthor=False)


def sources_folder() -> Path:
    """The folder in the cache for answers and rate limits of scholarly sources. It is created if
    possible; its content is private."""
    folder = cache_folder() / "sources"
    with contextlib.suppress(OSError):
        make_private(folder)
    return folder


def make_private(folder: Path) -> None:
    """Create a folder that other users cannot read, if it is missing. Folders above it, up to this
    user's data or cache folder, are closed to others. Raises `OSError`."""
    root = _user_folder(folder)
    if root is None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return
    for one in reversed([folder, *folder.parents]):
        if one.is_relative_to(root):
            one.mkdir(parents=True, exist_ok=True, mode=0o700)
            if _is_open(one):
                _close(one)


def make_private_file(path: Path) -> Path:
    """Create an empty file that other users cannot read, if it is missing, and its folder. Return
    the path. Raises `OSError`."""
    make_private(path.parent)
    if not path.exists():
        path.touch(mode=0o600)
    if _is_open(path) and _user_folder(path):
        _close(path)
    return path


@contextlib.contextmanager
def private_writes(folder: Path) -> Iterator[None]:
    """Create a folder for writing by this process and its children within the block. In this user's
    data or cache folder, other users cannot read it. Raises `OSError`."""
    if _user_folder(folder) is None:
        folder.mkdir(parents=True, exist_ok=True)
        yield
        return
    make_private(folder)
    _close(folder)
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _user_folder(path: Path) -> Path | None:
    """The data or cache folder around a path."""
    roots = (data_folder(), cache_folder())
    return next((root for root in roots if path.is_relative_to(root)), None)


def _is_open(path: Path) -> bool:
    return os.name == "posix" and bool(path.stat().st_mode & 0o077)


def _close(path: Path) -> None:
    """Remove other users' permissions from files that this user owns, in a folder or in one
    file."""
    for one in (path, *path.rglob("*")):
        with contextlib.suppress(OSError):
            if not one.is_symlink() and _is_open(one):
                one.chmod(one.stat().st_mode & 0o700)


# Models named in the user's settings by their Hugging Face name.

T = TypeVar("T")
logger = logging.getLogger(__name__)

_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def is_hub_off() -> bool:
    """True when the user has switched the Hugging Face hub off."""
    return any(os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in _OFFLINE)


def import_torch() -> Any:
    """Import `torch` before the packages that import it themselves. Raises `ImportError`. It would
    create a folder in the system's temporary folder, and leave it there."""
    folder = os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder() / "torch"))
    with contextlib.suppress(OSError):
        make_private(Path(folder))
    return importlib.import_module("torch")


def load_cached_first(name: str, load: Callable[[bool], T]) -> T:
    """Load a model with `load(local_files_only)`: from disk, without a request to the hub, else
    from the hub, unless it is off or `name` is a folder. Raises the last error.
    """
    if Path(name).is_dir() or is_hub_off():
        return load(True)
    try:
        return load(True)
    except Exception:  # hub, file and format errors share no base class
        logger.warning("Downloading the model %s, which the settings name", name)
    return load(False)
