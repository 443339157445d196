"""What client libraries of clouds would write to their debug logs."""

from __future__ import annotations

import logging
from typing import Final

_PRINTING: Final = (
    "azure.core.pipeline.policies._universal",
    "botocore.auth",
    "botocore.endpoint",
    "botocore.parsers",
    "google.auth",
    "google.cloud.secretmanager_v1",
    "kubernetes.client.rest",
    "msal.managed_identity",
)
"""Loggers that print whole requests or answers at DEBUG. hvac, urllib3 and grpc print none."""


def keep_values_out_of_debug_logs() -> None:
    """Silence the loggers that print secrets, unless the deployment has set their levels. Thread-safe."""
    for logger in map(logging.getLogger, _PRINTING):
        if logger.level == logging.NOTSET and logger.isEnabledFor(logging.DEBUG):
            logger.setLevel(logging.INFO)
