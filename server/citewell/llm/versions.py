"""The programs' versions: instructions and examples as JSON files, one folder per program.

    programs/pick/current.json       {"version": "2026-11-22-1", "previous": ["builtin"]}
    programs/pick/2026-11-22-1.json  a `Version`

The version "builtin" is in the code and always available. Only JSON is read and written: a pickle
would run code.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from citewell.model import CitewellError, Problem
from citewell.model.system.files import write_atomically
from citewell.options.folders import data_folder, make_private

if TYPE_CHECKING:
    from citewell.llm.programs import Program

BUILTIN = "builtin"
NAMES = ("pick", "rank", "verify", "reformulate", "interpret", "aspects", "summarize")
MAX_BYTES = 4 * 1024 * 1024
MAX_DEMOS = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Version(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One version of one program."""

    program: str
    version: str
    instructions: str
    demos: list[dict[str, str | list[str]]] = []
    """Examples: the signature's fields, inputs and outputs."""
    created: str = ""
    """ISO 8601, UTC."""
    parent: str = BUILTIN
    model: str = ""
    """The model that it was optimised with."""
    optimizer: str = ""
    metrics: dict[str, float] = {}
    notes: str = ""


class Current(msgspec.Struct, frozen=True, omit_defaults=True):
    """The version of a program in use."""

    version: str = BUILTIN
    previous: tuple[str, ...] = ()
    """Versions used earlier, the latest last."""
    trial: str = ""
    """A version that answers for a share of the passages, to compare the results."""
    share: float = 0.0

    def version_for(self, place: str) -> str:
        """The version for a passage: always the same for the same passage."""
        if not (self.trial and place):
            return self.version
        digest = hashlib.sha256(f"{self.trial} {place}".encode()).digest()
        drawn = int.from_bytes(digest[:8], "big") / 2**64
        return self.trial if drawn < self.share else self.version


_VERSION = msgspec.json.Decoder(Version)
_CURRENT = msgspec.json.Decoder(Current)
MAX_PREVIOUS = 50


def programs_folder(folder: Path | None = None) -> Path:
    """The folder of versions: `llm.programs`, else in the user's data folder."""
    return folder or data_folder() / "programs"


def versions_of(program: str, folder: Path | None = None) -> tuple[str, ...]:
    """Every version of a program, the built-in one first, then by name."""
    place = programs_folder(folder) / _checked(program, "program")
    found = sorted(
        path.stem for path in place.glob("*.json") if path.stem not in ("current", BUILTIN)
    )
    return (BUILTIN, *found)


def current(program: str, folder: Path | None = None) -> Current:
    """The version in use: the built-in one until another was accepted."""
    path = programs_folder(folder) / _checked(program, "program") / "current.json"
    if not path.exists():
        return Current()
    try:
        found = _CURRENT.decode(_read(path))
    except (msgspec.MsgspecError, OSError) as error:
        raise _broken(path, error) from error
    for name in (found.version, *found.previous, *((found.trial,) if found.trial else ())):
        _checked(name, "version")
    return found


def current_version(program: str, folder: Path | None = None) -> str:
    """The version in use."""
    return current(program, folder).version


def use_version(program: str, version: str, folder: Path | None = None) -> None:
    """Make a version the current one, and end a trial. Raises `CitewellError` if it does not
    exist."""
    if version != BUILTIN:
        read_version(program, version, folder)
    before = current(program, folder)
    previous = (*before.previous, before.version)[-MAX_PREVIOUS:]
    if version != before.version or before.trial:
        _set(program, Current(version=version, previous=previous), folder)


def roll_back(program: str, folder: Path | None = None) -> str:
    """Return to the version used before the current one, end a trial, and return its name. Raises
    `CitewellError` if there is none."""
    now = current(program, folder)
    if not now.previous:
        raise CitewellError(
            Problem(
                "program-unknown",
                f"The program {program!r} has no version before {now.version!r}.",
                "`citewell prompts list` shows all versions, `citewell prompts use` selects one.",
            )
        )
    *rest, version = now.previous
    if version != BUILTIN:
        read_version(program, version, folder)
    _set(program, Current(version=version, previous=tuple(rest)), folder)
    return version


def start_trial(program: str, version: str, share: float, folder: Path | None = None) -> None:
    """Use a version for a share (0 to 1) of the passages; 0 ends the trial."""
    if version != BUILTIN:
        read_version(program, version, folder)
    now = current(program, folder)
    trial = version if share > 0 and version != now.version else ""
    kept = Current(now.version, now.previous, trial, min(1.0, share) if trial else 0.0)
    _set(program, kept, folder)


def _set(program: str, now: Current, folder: Path | None) -> None:
    path = programs_folder(folder) / _checked(program, "program") / "current.json"
    _write(path, msgspec.json.encode(now))


def read_version(program: str, version: str, folder: Path | None = None) -> Version:
    """Read a stored version. Raises `CitewellError` if it is missing or invalid."""
    _checked(program, "program")
    if version == BUILTIN:
        module = new_program(program)
        return Version(
            program=program, version=BUILTIN, instructions=module.predict.signature.instructions
        )
    path = programs_folder(folder) / program / f"{_checked(version, 'version')}.json"
    try:
        found = _VERSION.decode(_read(path))
    except FileNotFoundError as error:
        known = ", ".join(versions_of(program, folder))
        raise CitewellError(
            Problem(
                "program-unknown",
                f"The program {program!r} has no version {version!r}.",
                f"Known: {known}.",
            )
        ) from error
    except (msgspec.MsgspecError, OSError) as error:
        raise _broken(path, error) from error
    if found.program != program or len(found.demos) > MAX_DEMOS:
        raise _broken(path, ValueError("it is of another program, or has too many examples"))
    return found


def write_version(version: Version, folder: Path | None = None) -> Path:
    """Store a version; its name must be new."""
    name = _checked(version.version, "version")
    path = programs_folder(folder) / _checked(version.program, "program") / f"{name}.json"
    if name in (BUILTIN, "current") or path.exists():
        raise CitewellError(
            Problem(
                "program-exists",
                f"The program {version.program!r} has a version {name!r} already.",
                "Give the new one another name.",
            )
        )
    _write(path, msgspec.json.format(msgspec.json.encode(version), indent=1))
    return path


def new_program(program: str) -> Program:
    """The program as in the code. Imports DSPy."""
    from citewell.llm.programs import PROGRAMS

    return PROGRAMS[_checked(program, "program")]()


def load_program(program: str, version: str = "", folder: Path | None = None) -> Program:
    """A program in a version; empty: the current one. Imports DSPy."""
    version = version or current_version(program, folder)
    module = new_program(program)
    if version == BUILTIN:
        return module
    stored = read_version(program, version, folder)
    predict = module.predict
    predict.signature = predict.signature.with_instructions(stored.instructions)
    fields = set(predict.signature.fields)
    predict.demos = [
        {name: value for name, value in demo.items() if name in fields} for demo in stored.demos
    ]
    return module


def save_program(
    module: Program, version: str, folder: Path | None = None, **facts: Any
) -> Version:
    """Store a module's instructions and examples as a version. `facts`: further fields of
    `Version`, such as `parent`, `model`, `optimizer`, `metrics`."""
    fields = module.predict.signature.fields
    demos = [
        {name: _plain(demo[name]) for name in fields if name in demo}
        for demo in module.predict.demos
    ]
    found = Version(
        program=module.name,
        version=version,
        instructions=module.predict.signature.instructions,
        demos=demos,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **facts,
    )
    write_version(found, folder)
    return found


def _plain(value: Any) -> str | list[str]:
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


def _checked(name: str, what: str) -> str:
    known = name in NAMES if what == "program" else _NAME.fullmatch(name) is not None
    if not known:
        raise CitewellError(
            Problem(
                "program-unknown",
                f"Unknown {what} {name[:80]!r}.",
                f"Programs: {', '.join(NAMES)}. Versions: letters, digits and any of `. _ -`.",
            )
        )
    return name


def _read(path: Path) -> bytes:
    with path.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError("it is too large")
    return data


def _broken(path: Path, error: Exception) -> CitewellError:
    return CitewellError(
        Problem(
            "program-broken",
            f"The version of a program cannot be read ({error}).",
            "Remove the file, or use another version.",
            path=str(path),
        )
    )


def _write(path: Path, data: bytes) -> None:
    make_private(path.parent)
    write_atomically(path, data, mode=0o600)
