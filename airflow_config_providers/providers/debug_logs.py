"""The debug logs of client libraries, in which whole answers of secret stores stand."""

from __future__ import annotations

import logging
from typing import Final

_PRINTING_ANSWERS: Final = (
    "azure.core.pipeline.policies._universal",
    "botocore.parsers",
    "google.auth",
    "google.cloud.secretmanager_v1",
    "kubernetes.client.rest",
)
"""Loggers that print bodies at DEBUG. hvac, urllib3 and grpc print none."""


def keep_values_out_of_debug_logs() -> None:
    """Silence the loggers that print whole answers, unless the deployment has set their levels."""
    for logger in map(logging.getLogger, _PRINTING_ANSWERS):
        if logger.level == logging.NOTSET and logger.isEnabledFor(logging.DEBUG):
            logger.setLevel(logging.INFO)
