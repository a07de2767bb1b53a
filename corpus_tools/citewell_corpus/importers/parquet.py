"""Rows of Parquet files as JSON objects, some row groups and columns at a time.

Needs pyarrow (extra `parquet`). Formats are recognised without it, by the names in the file's end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from citewell.corpus.errors import MissingPackageError, library_error, library_problem
from citewell_corpus.importers.contract import ImportReport

BATCH = 256
"""Rows in memory at once: references and abstracts make a row of up to a megabyte."""
MAX_FOOTER = 16 << 20
"""Maximum bytes of a footer: a larger one is no list of works."""
SUFFIX = ".parquet"
_MAGIC = b"PAR1"
_LENGTH = 4
_LEVELS = frozenset({"list", "element", "item", "bag", "array", "array_element", "key_value"})
"""Levels of a schema that writers put around the items of lists and maps."""


def has_columns(path: Path, names: Sequence[str]) -> bool:
    """Whether a file is Parquet and its footer contains these names; reads only the footer.

    True also for a `.parquet` with its end missing: reading it reports the damage.
    """
    try:
        with path.open("rb") as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                return False
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _LENGTH - len(_MAGIC)))
            length = int.from_bytes(stream.read(_LENGTH), "little")
            if stream.read() != _MAGIC:
                return path.suffix.lower() == SUFFIX
            if not 0 < length <= min(size, MAX_FOOTER):
                return False
            stream.seek(size - _LENGTH - len(_MAGIC) - length)
            footer = stream.read(length)
    except OSError:
        return False
    return all(name.encode() in footer for name in names)


def is_parquet(path: Path) -> bool:
    """Whether a file begins like Parquet."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def rows(
    path: Path, fields: Sequence[str], report: ImportReport
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number (from 1) and content of each row, with the fields present in the file.

    "a" is a plain column, "a.b" the field b of the structs, or lists of structs, of the column a,
    and "a." all of a nested column. Maps become objects, and so does JSON in a column of text that
    may be nested. The rows of a row group that cannot be read are left out and reported. Raises
    `LibraryError` without pyarrow, and for a file whose footer cannot be read.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        message = "Reading Parquet needs the package pyarrow, which is not installed."
        problem = library_problem("parquet-not-installed", message, path)
        raise MissingPackageError(problem) from None
    try:
        file = parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        message = f"The Parquet file is damaged or truncated: {_short(error)}."
        raise library_error("source-unreadable", message, path) from None
    with file:
        leaves = [file.schema.column(n).path for n in range(len(file.schema.names))]
        present = [path for path in leaves if any(_is_in(path, field) for field in fields)]
        nested = {field.partition(".")[0] for field in fields if "." in field}
        groups = file.metadata.num_row_groups
        first, size = 0, path.stat().st_size
        for group in range(groups):
            count = file.metadata.row_group(group).num_rows
            number = first
            try:
                for batch in file.iter_batches(BATCH, row_groups=[group], columns=present):
                    for row in _in_rows(batch):
                        number += 1
                        if isinstance(row, ValueError):
                            report.bad_record(path, number, f"The row is not a record: {row}.")
                            continue
                        yield (
                            number,
                            {
                                name: _decoded(value) if name in nested else value
                                for name, value in row.items()
                            },
                        )
            except (pyarrow.ArrowException, OSError, ValueError) as error:
                message = (
                    f"Row group {group + 1} of {groups} is damaged ({_short(error)}): "
                    f"{first + count - number:,} of its {count:,} rows were left out."
                )
                report.bad_file(library_problem("source-unreadable", message, path))
            first += count
            report.read_bytes(size * (group + 1) // groups - size * group // groups)


def _in_rows(batch: Any) -> Iterator[dict[str, Any] | ValueError]:
    """The rows of a batch; an error for a row with invalid UTF-8 or an invalid date."""
    try:
        yield from batch.to_pylist(maps_as_pydicts="lossy")
        return
    except ValueError as error:
        if batch.num_rows == 1:
            yield error
            return
    for at in range(batch.num_rows):
        yield from _in_rows(batch.slice(at, 1))


def _is_in(path: str, field: str) -> bool:
    """Whether a leaf of the schema belongs to a field; a text column may contain all of one."""
    plain = ".".join(part for part in path.split(".") if part not in _LEVELS)
    wanted = field.removesuffix(".")
    return plain == wanted or f"{wanted}.".startswith(f"{plain}.") or plain.startswith(f"{wanted}.")


def _decoded(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
    return value


def _short(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")[:200]
