"""
The settings of the deployment, section ``[config_providers]``.

Each is read when it is asked for, so that a test or a process may differ from the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.data import Password
from airflow_config_providers.core.resolver import Unresolved
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.exceptions import ConfigException

SECTION: Final = "config_providers"


def apply_to() -> list[str]:
    """Give the families of stock operators that get what this package adds, without a change of their DAGs."""
    return _list("apply_to")


def opt_out_enabled() -> bool:
    """Tell whether a DAG may keep its stock operators as they are."""
    return _boolean("opt_out_enabled", fallback=True)


def config_conn_id() -> str:
    """Give the connection that defines the providers of operators which name none."""
    return _text("config_conn_id", "config_providers_default")


def allow_exposed_arguments() -> bool:
    """Tell whether operators that do not say so may put values where others than the job can read them."""
    return _boolean("allow_exposed_arguments")


def resolve_in() -> str:
    """Give who resolves the references of operators that do not say so: auto, worker or driver."""
    return _text("resolve_in", "auto")


def run_config_enabled() -> bool:
    """Tell whether ``dag_run.conf`` may set Spark configuration."""
    return _boolean("run_config_enabled")


def run_config_references() -> bool:
    """Tell whether Spark configuration in ``dag_run.conf``, and what templates fill in, may hold references."""
    return _boolean("run_config_references")


def run_config_key() -> str:
    """Give the key of ``dag_run.conf`` under which Spark configuration stands."""
    return _text("run_config_key", "spark_conf")


def environment_enabled() -> bool:
    """Tell whether environment variables of the worker override Spark configuration."""
    return _boolean("environment_enabled")


def dynamic_enabled() -> bool:
    """Tell whether tasks read their dynamic configuration, which costs two requests each."""
    return _boolean("dynamic_enabled", fallback=True)


def password_encoder_secret() -> str:
    """Give the secret that secrets of the dynamic configuration are encrypted with; empty for none."""
    return _text("password_encoder_secret", "")


def password_encoder_old_secret() -> str:
    """Give the secret before that one; empty for none."""
    return _text("password_encoder_old_secret", "")


def seal() -> Callable[[Password], str] | None:
    """Give what encrypts a secret for the dynamic configuration; None where there is no secret to do it with."""
    from airflow_config_providers.dynamic.password_encoder import PasswordEncoder  # noqa: PLC0415 - few need it

    secret = password_encoder_secret()
    return PasswordEncoder(secret).encode if secret else None


def policies_file() -> str:
    """Give the file of the policies that every change and every run must pass; empty for none."""
    return _text("policies_file", "")


def allowed_policy_classes() -> frozenset[str]:
    """Give the dotted paths that the policies' file may name besides the ready policies."""
    return frozenset(_list("allowed_policy_classes"))


def allowed_provider_classes() -> frozenset[str]:
    """Give the dotted paths that a provider definition may name besides registered short names."""
    return frozenset(_list("allowed_provider_classes"))


def config_files() -> list[str]:
    """Give the properties files that every job of the deployment starts from, the strongest last."""
    return _list("config_files")


def max_workers() -> int:
    """Give how many paths are read from providers at once."""
    text = _text("max_workers", "32")
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ConfigException(f"[{SECTION}] max_workers: expected a number from 1 on. Correct it in airflow.cfg.")
    return int(text)


def longest_field() -> int:
    """Give the characters of a template field from which on Airflow cuts it when it stores it."""
    return int(conf.getint("core", "max_templated_field_length"))


def unresolved() -> Unresolved:
    """Give what becomes of a reference that nobody answers."""
    return parse_unresolved(_text("unresolved", "fail"), where=f"[{SECTION}] unresolved")


def parse_unresolved(text: str, *, where: str) -> Unresolved:
    """Read ``fail`` or ``keep``."""
    choices = [choice.value for choice in Unresolved]
    if text not in choices:
        raise ConfigException(
            f"{where}: '{printable(str(text))}' is none of {', '.join(choices)}{nearest(str(text), choices)}"
        )
    return Unresolved(text)


def _text(option: str, default: str) -> str:
    return str(conf.get(SECTION, option, fallback=default) or default).strip()


def _boolean(option: str, *, fallback: bool = False) -> bool:
    return bool(conf.getboolean(SECTION, option, fallback=fallback))


def _list(option: str) -> list[str]:
    return [item for part in _text(option, "").split(",") if (item := part.strip())]
