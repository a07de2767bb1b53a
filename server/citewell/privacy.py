"""Keeps the packages that Citewell uses from reporting, updating and downloading on their own, and
from showing progress bars.

They read these variables when they are imported. `citewell` sets them, and each process that it
starts inherits them. docs/privacy.md lists them.
"""

import os

TYPE_CHECKING = False  # like `typing`, which takes longer to import than this
if TYPE_CHECKING:
    from collections.abc import Mapping

SWITCHES: "Mapping[str, Mapping[str, str]]" = {
    "any package that honours it": {"DO_NOT_TRACK": "1"},
    # Reports to its vendor, and writes an id of the machine into the user's cache.
    "onnxruntime": {"ORT_DISABLE_TELEMETRY": "1"},
    # Requests a list of agents, and its own newest version, from its host.
    "huggingface_hub": {
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    },
    # Both fetch a list of prices; LiteLLM also reads a `.env` of the current folder.
    "dspy, litellm": {
        "LITELLM_OFFLINE_MODE": "true",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
    },
    # Other packages draw its bars on standard error, which belongs to Citewell's messages.
    "tqdm": {"TQDM_DISABLE": "1"},
    "ray": {"RAY_USAGE_STATS_ENABLED": "0"},
}
"""Environment variables by the package that reads them."""
SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""Environment of all processes that Citewell starts, and of its commands: nothing is imported from
the working folder, which may be untrusted."""


def switch_reports_off() -> None:
    """Set the variables of this process, whatever their values."""
    for variables in SWITCHES.values():
        os.environ.update(variables)
