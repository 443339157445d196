"""The command that re-encrypts stored secrets."""

from __future__ import annotations

from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.cli.failing import reporting_errors
from airflow_config_providers.cli.output import show
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.process_environment import user
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.document import PREFIX, documents
from airflow_config_providers.dynamic.encoder_rotation import Rotation
from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
from airflow_config_providers.exceptions import ConfigException, refuse


@reporting_errors
def rotate(args: Any) -> None:
    """Re-encrypt, with the new secret, what was encrypted with the old one. Show the number of secrets per variable."""
    require_here("encoder rotate")
    store = VariableStore(user())
    done = list(Rotation(store, _encoder(), validate_only=args.validate_only).rotate(documents(store.names(PREFIX))))
    rows = [
        {"variable": one.name, "secrets": one.secrets, "reencrypted": one.reencrypted} for one in done if one.secrets
    ]
    show(rows, args.output, nothing="No secrets are stored.")
    refuse(ConfigException, [problem for one in done for problem in one.problems])


def _encoder() -> PasswordEncoder:
    secret = settings.password_encoder_secret()
    if not secret:
        raise ConfigException(
            "There is no secret to encrypt with. In [config_providers], set password_encoder_secret to the new secret "
            "and password_encoder_old_secret to the previous one."
        )
    return settings.sealing_encoder(secret)
