"""Commands whose standard error is closed."""

from __future__ import annotations

import os
import subprocess
import sys

LOGS = """
import logging
from citewell.cli.terminal import set_up_logging
set_up_logging(0)
for _ in range(2):
    logging.warning("A record.")
print("alive")
"""


def test_a_log_that_nobody_reads_ends_no_process() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", LOGS], stdout=subprocess.PIPE, stderr=write, check=False
        )
    finally:
        os.close(write)
    assert (ended.returncode, ended.stdout.split()) == (0, [b"alive"])
