"""Where what Citewell keeps for its user lies: libraries, unless a setting says where, and a few
small files.
"""

from __future__ import annotations

import os
from pathlib import Path

DATA_VARIABLE = "CITEWELL_DATA"


def data_folder() -> Path:
    """The folder that `CITEWELL_DATA` names, else the user's data folder."""
    from platformdirs import user_data_path

    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else user_data_path("citewell", appauthor=False)
