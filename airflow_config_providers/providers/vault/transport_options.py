"""From options to what a connection is made with: certificates and proxies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airflow_config_providers.providers.vault.settings import FALSE, TRUE, Options

_CA_VARIABLES: Final = ("VAULT_CACERT", "VAULT_CAPATH", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Environment variables that name a CA bundle, the one that counts first."""


def read_verify(options: Options, *, environ: Mapping[str, str]) -> bool | str:
    """
    Give the CA to verify with: ``ca_cert``, a path in ``verify``, one that the environment names, or True.

    False only where ``verify`` says so.
    """
    said = options.values.get("verify")
    word = str(said).lower() if isinstance(said, bool) else options.text("verify")
    ca_cert = options.existing("ca_cert")
    if word.lower() in FALSE:
        if ca_cert:
            options.problems.append("verify is false, but ca_cert names a CA to verify with. Leave one of them out.")
        return False
    if ca_cert:
        return ca_cert
    if word and word.lower() not in TRUE:
        return options.existing("verify")
    named = next((name for name in _CA_VARIABLES if environ.get(name)), None)
    return True if named is None else options.existing(named, path=environ[named])


def read_cert(options: Options, *, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Give the client certificate and its key, which may stand in one file; None for none."""
    cert, key = options.existing("client_cert"), options.existing("client_key")
    if key and not cert:
        options.problems.append("client_key has no certificate with it. Add client_cert.")
    if not cert and environ.get("VAULT_CLIENT_CERT"):
        cert = options.existing("VAULT_CLIENT_CERT", path=environ["VAULT_CLIENT_CERT"])
        key = options.existing("VAULT_CLIENT_KEY", path=environ.get("VAULT_CLIENT_KEY", ""))
    return (cert, key or cert) if cert else None


def read_proxies(options: Options) -> tuple[tuple[str, str], ...]:
    """Give the proxy of each scheme."""
    proxies = options.mapping("proxies")
    if all(isinstance(url, str) for url in proxies.values()):
        return tuple(sorted(proxies.items()))
    options.problems.append("proxies names something for a scheme that is no text. Write an address for each.")
    return ()
