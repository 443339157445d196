"""Checks the secret with which stored secrets are encrypted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fault, fine
from airflow_config_providers.doctor.check import Site

_SECRET: Final = "[config_providers] password_encoder_secret"  # noqa: S105 - the name of a setting
_FEWEST: Final = 8
"""A random secret of 16 bytes has at least this many different characters, but for one in a million."""

_NEW: Final = "Create one with 'openssl rand -base64 32', and set it for every process of the deployment."


def check(site: Site) -> Iterator[Diagnosis]:
    """
    Yield whether the secret is set and strong, and whether Airflow encrypts its variables.

    :raises ConfigException: the secret is short, or other settings of the encoder are wrong
    """
    secret = settings.password_encoder_secret()
    if not secret:
        yield doubt(f"{_SECRET} is not set, so no secret can be stored, and records have no hashes of values.", _NEW)
    else:
        yield from _strength(secret)
    if settings.password_encoder_old_secret():
        yield doubt(
            "A rotation has not ended: password_encoder_old_secret is set.",
            "Run 'airflow config-providers encoder rotate', then remove password_encoder_old_secret.",
        )
    if not str(conf.get("core", "fernet_key", fallback="") or "").strip():
        yield fault("Airflow does not encrypt its variables: [core] fernet_key is not set.", "Set it.")


def _strength(secret: str) -> Iterator[Diagnosis]:
    settings.sealing_encoder(secret)
    if len(set(secret)) < _FEWEST:
        yield doubt(f"{_SECRET} has few different characters, so it can be guessed.", _NEW)
    else:
        yield fine(f"{_SECRET} is set, and long enough.")
