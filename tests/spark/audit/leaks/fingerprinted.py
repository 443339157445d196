"""Values, and their fingerprints."""

from __future__ import annotations

from base64 import b64encode
from random import Random

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.fingerprint import FingerprintKey
from airflow_config_providers.spark.audit.leaks.fingerprint_finder import FingerprintFinder
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret

PASSWORD = ConfigVariable("vault", "apps/db", "password")
TOKEN = ConfigVariable("vault", "apps/web", "token")
PIN = ConfigVariable("vault", "apps/db", "pin")
VALUE, OTHER, SHORT = 'k9#Qv"7/wZ&é\\x2', "t0ken-of-the-web", "p1n-7"
SECRETS = [KnownSecret(PASSWORD, VALUE), KnownSecret(TOKEN, OTHER), KnownSecret(PIN, SHORT)]
KEY, OTHER_KEY = FingerprintKey(b"k" * 32), FingerprintKey(b"o" * 32)
FINGERPRINTS = list(KEY.of_secrets(SECRETS))
FINDER = FingerprintFinder(FINGERPRINTS, KEY)

LONG_VALUE = b64encode(Random(1).randbytes(9_000) + bytes(24) + Random(2).randbytes(9_000)).decode()
