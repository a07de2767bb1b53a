"""The usage of language models, counted per day and model, and limited before a request is sent.

The counts are in the user's data folder and contain numbers only: no text, no question, no key.
"""

from __future__ import annotations

import datetime
import logging
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from citewell.model import CitewellError, Problem
from citewell.model.llm import Budget, Usage
from citewell.model.system.database import open_database, transaction
from citewell.options.folders import data_folder, make_private_file

logger = logging.getLogger(__name__)

KEPT_DAYS = 400
BUSY_SECONDS = 5.0
_SQL = """
CREATE TABLE IF NOT EXISTS usage (day TEXT, model TEXT, requests INTEGER, input_tokens INTEGER,
  output_tokens INTEGER, cost REAL, unpriced INTEGER, local INTEGER DEFAULT 0,
  PRIMARY KEY (day, model)) WITHOUT ROWID;
"""
_ADD = """
INSERT INTO usage (day, model, requests, input_tokens, output_tokens, cost, unpriced, local)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, model) DO UPDATE SET
  requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
  output_tokens = output_tokens + excluded.output_tokens, cost = cost + excluded.cost,
  unpriced = unpriced + excluded.unpriced, local = excluded.local
"""


def today() -> str:
    """Today's date by the local clock, which a request counts for."""
    return datetime.date.today().isoformat()


def _total(parts: Iterable[Usage]) -> Usage:
    total = Usage()
    for part in parts:
        total = total.plus(part)
    return total


class Account:
    """Counts per day over all processes of this user. Safe across threads and processes."""

    def __init__(
        self,
        daily_tokens: int = 0,
        daily_cost: float = 0.0,
        path: Path | None = None,
        *,
        local: bool = False,
    ) -> None:
        """0: no limit. `local`: the model runs on this machine, where tokens are free: they are
        shown, but neither limited nor counted against other models."""
        self.local = local
        self.daily_tokens = 0 if local else daily_tokens
        self.daily_cost = daily_cost
        self._path = path or data_folder() / "llm-usage.sqlite"
        self._lock = threading.Lock()
        self._session = Usage()

    @property
    def session(self) -> Usage:
        """The usage of this process."""
        with self._lock:
            return self._session

    def allow(self, tokens: int, cost: float = 0.0) -> None:
        """Check that a request of this many tokens and dollars is within today's budget. Raises
        `CitewellError` if it is not, or if the usage is unknown."""
        if not (self.daily_tokens or self.daily_cost):
            return
        try:
            used = self._limited()
        except (sqlite3.Error, OSError) as error:
            raise CitewellError(
                Problem(
                    "llm-account",
                    f"The usage record of language models cannot be read ({error}); nothing was "
                    "sent.",
                    "Remove the file, or set `llm.daily_tokens` and `llm.daily_cost` to 0.",
                    path=str(self._path),
                )
            ) from error
        spent = used.input_tokens + used.output_tokens
        if self.daily_tokens and spent + tokens > self.daily_tokens:
            raise CitewellError(
                Problem(
                    "llm-budget",
                    f"The language model has used {spent:,} of {self.daily_tokens:,} tokens "
                    f"today, and the next request may take {tokens:,}; it was not sent.",
                    "Raise `llm.daily_tokens`, or wait until tomorrow.",
                )
            )
        if self.daily_cost and used.cost + cost > self.daily_cost:
            raise CitewellError(
                Problem(
                    "llm-budget",
                    f"The language model has cost ${used.cost:.2f} of ${self.daily_cost:.2f} "
                    "today and the next request would cost more; it was not sent.",
                    "Raise `llm.daily_cost`, or wait until tomorrow.",
                )
            )

    def add(self, model: str, usage: Usage) -> None:
        """Count the usage of a request. A count that cannot be written is logged, not raised."""
        with self._lock:
            self._session = self._session.plus(usage)
        row = (
            today(), model[:200], usage.requests, usage.input_tokens, usage.output_tokens,
            usage.cost, usage.unpriced, self.local,
        )  # fmt: skip
        try:
            with self._database() as database:
                database.execute(_ADD, row)
                oldest = datetime.date.today() - datetime.timedelta(days=KEPT_DAYS)
                database.execute("DELETE FROM usage WHERE day < ?", (oldest.isoformat(),))
        except (sqlite3.Error, OSError) as error:
            logger.warning("The use of the language model cannot be counted: %s", error)

    def used(self, day: str = "") -> Usage:
        """The usage of a day (default: today). Raises `sqlite3.Error` or `OSError`."""
        return _total(self.by_model(day).values())

    def by_model(self, day: str = "") -> dict[str, Usage]:
        """The usage of a day (default: today) per model. Raises `sqlite3.Error` or `OSError`."""
        return {model: usage for model, _, usage in self._rows(day)}

    def _limited(self) -> Usage:
        """Today's usage for the limits: tokens of remote models, dollars of all."""
        rows = self._rows("")
        cost = sum(usage.cost for _, _, usage in rows)
        elsewhere = _total(usage for _, local, usage in rows if not local)
        return msgspec.structs.replace(elsewhere, cost=cost)

    def _rows(self, day: str) -> list[tuple[str, bool, Usage]]:
        if not self._path.exists():
            return []
        with self._database() as database:
            rows = database.execute(
                "SELECT model, local, requests, input_tokens, output_tokens, cost, unpriced "
                "FROM usage WHERE day = ? ORDER BY model",
                (day or today(),),
            ).fetchall()
        return [(model, bool(local), Usage(*numbers)) for model, local, *numbers in rows]

    def budget(self) -> Budget:
        """Today's usage and limits; no usage if the count cannot be read."""
        used = Usage()
        with suppress(sqlite3.Error, OSError):
            used = self.used() if self.local else self._limited()
        return Budget(used, self.session, self.daily_tokens, self.daily_cost)

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        database = open_database(make_private_file(self._path), (_SQL,), seconds=BUSY_SECONDS)
        try:
            with transaction(database):
                yield database
        finally:
            database.close()
