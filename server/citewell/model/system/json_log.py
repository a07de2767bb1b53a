"""Log records as JSON lines, for programs that collect logs."""

from __future__ import annotations

import datetime
import json
import logging
import sys

FIELDS = "json_fields"
"""Attribute of a log record with extra fields for its line: `extra={FIELDS: {...}}`."""


class JsonFormatter(logging.Formatter):
    """Formats a line with time (ISO 8601, UTC), level, logger, message, extra fields and
    traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_as_json() -> None:
    """Write all log records of this process to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], force=True)
