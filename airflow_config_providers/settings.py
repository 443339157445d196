"""
The settings of the deployment, section ``[config_providers]``.

Each setting is read when it is needed, so that it can differ between tests and between processes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from airflow_config_providers.airflow_compat import conf, config_errors
from airflow_config_providers.core.text import nearest, octets, printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.get_provider_info import OPTIONS

if TYPE_CHECKING:
    from airflow_config_providers.core.data import Password
    from airflow_config_providers.core.resolver import Unresolved
    from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
    from airflow_config_providers.spark.key_check import UnknownKeys

SECTION: Final = "config_providers"

_LEAST_OCTETS: Final = 16
"""NIST SP 800-132 requires at least 112 bits in the secret from which a key is derived."""

_DAY: Final = 24 * 60 * 60

_OF_ENCODER: Final = {
    "keyFactoryAlgorithm": "password_encoder_keyfactory_algorithm",
    "cipherAlgorithm": "password_encoder_cipher_algorithm",
    "keyLength": "password_encoder_key_length",
    "iterations": "password_encoder_iterations",
}
"""Name that KIP-226 writes into encrypted texts -> name of the setting."""


def apply_to() -> list[str]:
    """Return the families of stock operators that this package configures without a change of their DAGs."""
    return _list("apply_to")


def opt_out_enabled() -> bool:
    """Return whether a DAG may keep its stock operators as they are."""
    return _boolean("opt_out_enabled")


def config_conn_id() -> str:
    """Return the connection that defines the providers of operators that name no connection."""
    return _text("config_conn_id")


def allow_exposed_arguments() -> bool:
    """Return the default of ``allow_exposed_arguments``: whether values may go where others can read them."""
    return _boolean("allow_exposed_arguments")


def resolve_in() -> str:
    """Return where references are resolved by default: ``auto``, ``worker`` or ``driver``."""
    return _text("resolve_in")


def run_config_enabled() -> bool:
    """Return whether ``dag_run.conf`` may set Spark configuration."""
    return _boolean("run_config_enabled")


def run_config_references() -> bool:
    """Return whether Spark configuration in ``dag_run.conf``, and the results of templates, may hold references."""
    return _boolean("run_config_references")


def run_config_key() -> str:
    """Return the key of ``dag_run.conf`` that holds Spark configuration."""
    return _text("run_config_key")


def environment_enabled() -> bool:
    """Return whether environment variables of the worker override Spark configuration."""
    return _boolean("environment_enabled")


def dynamic_enabled() -> bool:
    """Return whether tasks read their dynamic configuration, which costs one or two requests for each task."""
    return _boolean("dynamic_enabled")


def records_enabled() -> bool:
    """Return whether tries leave records of their configuration."""
    return _boolean("records_enabled")


def records_path() -> str:
    """Return the folder below which each try writes its record as a file, too; empty for none."""
    return _text("records_path")


def follow_interval() -> float:
    """Return the seconds after which processes notice a change of dynamic configuration, at the latest."""
    return _seconds("follow_interval", least=1)


def password_encoder_secret() -> str:
    """Return the secret that encrypts secrets of the dynamic configuration; empty for none."""
    return _secret("password_encoder_secret")


def password_encoder_old_secret() -> str:
    """Return the previous ``password_encoder_secret``, which is set while rotating; empty for none."""
    return _secret("password_encoder_old_secret")


def password_encoder() -> PasswordEncoder | None:
    """
    Return the encoder of secrets of the dynamic configuration; None if ``password_encoder_secret`` is not set.

    :raises ConfigException: settings are wrong; lists all of them
    """
    secret = password_encoder_secret()
    return _password_encoder(secret) if secret else None


def seal() -> Callable[[Password], str] | None:
    """
    Return a function that encrypts a secret for the dynamic configuration; None without ``password_encoder_secret``.

    Its other settings are read when it is first called, so that a wrong setting does not affect those who only read.
    """
    secret = password_encoder_secret()
    if not secret:
        return None
    encoder = cache(partial(sealing_encoder, secret))
    return lambda password: encoder().encode(password)


def sealing_encoder(secret: str) -> PasswordEncoder:
    """
    Return an encoder that encrypts with ``secret``.

    :raises ConfigException: the secret is so short that it could be guessed, or other settings are wrong
    """
    require_strong(secret)
    return _password_encoder(secret)


def require_strong(secret: str) -> None:
    """
    Require a ``password_encoder_secret`` that cannot be guessed.

    :raises ConfigException: it is so short that it could be guessed
    """
    if len(octets(secret)) < _LEAST_OCTETS:
        raise ConfigException(
            f"[{SECTION}] password_encoder_secret has fewer than {_LEAST_OCTETS} bytes, so it can be guessed. Create a "
            f"new one with 'openssl rand -base64 32'. Then re-encrypt what is stored: airflow config-providers encoder "
            f"rotate"
        )


def _password_encoder(secret: str) -> PasswordEncoder:
    from airflow_config_providers.dynamic.encrypted_text import EncoderSettings  # noqa: PLC0415 - few need it
    from airflow_config_providers.dynamic.password_encoder import PasswordEncoder  # noqa: PLC0415 - as above

    key_factory = _text("password_encoder_keyfactory_algorithm")
    cipher = _text("password_encoder_cipher_algorithm")
    key_length = _number("password_encoder_key_length")
    iterations = _number("password_encoder_iterations")
    wrong = EncoderSettings(key_factory.upper(), cipher.upper(), key_length, iterations).wrong()
    if wrong:
        raise ConfigException(*(f"[{SECTION}] {_OF_ENCODER[field]} {what}" for field, what in wrong.items()))
    return PasswordEncoder(
        secret,
        old_secret=password_encoder_old_secret() or None,
        key_factory_algorithm=key_factory,
        cipher_algorithm=cipher,
        key_length=key_length,
        iterations=iterations,
    )


def policies_file() -> str:
    """Return the file of the policies that every change and every run must pass; empty for none."""
    return _text("policies_file")


def allowed_policy_classes() -> frozenset[str]:
    """Return the dotted paths of classes that the policies file may name besides the ready policies."""
    return frozenset(_list("allowed_policy_classes"))


def allowed_provider_classes() -> frozenset[str]:
    """Return the dotted paths of classes that a provider definition may name besides registered short names."""
    return frozenset(_list("allowed_provider_classes"))


def config_files() -> list[str]:
    """Return the properties files that apply to every job of the deployment; a later one overrides an earlier one."""
    return _list("config_files")


def config_paths() -> tuple[str, ...]:
    """Return the directories in which the properties files of jobs must be; empty for anywhere."""
    return tuple(_list("config_paths"))


def max_workers() -> int:
    """Return how many paths, and secrets of a secrets backend, are read at the same time."""
    text = _text("max_workers")
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ConfigException(f"[{SECTION}] max_workers: expected a whole number from 1. Correct it in airflow.cfg.")
    return int(text)


def resolve_timeout() -> float:
    """Return the seconds within which the providers must answer all references of one configuration."""
    return _seconds("resolve_timeout", least=1)


def reload_settling() -> float:
    """Return the seconds in which changes of a running job's secrets are one reload."""
    return _seconds("reload_settling", least=0)


def reloads_per_hour() -> int:
    """Return how often at most a running job is reloaded in an hour."""
    number = _number("reloads_per_hour")
    if not number:
        raise ConfigException(
            f"[{SECTION}] reloads_per_hour: expected a whole number from 1. Correct it in airflow.cfg."
        )
    return number


def longest_field() -> int:
    """Return the number of characters above which Airflow truncates a template field that it stores."""
    return int(conf.getint("core", "max_templated_field_length"))


def unresolved() -> Unresolved:
    """Return what happens to a reference that no provider answers."""
    return parse_unresolved(_text("unresolved"), where=f"[{SECTION}] unresolved")


def parse_unresolved(text: str, *, where: str) -> Unresolved:
    """Parse ``fail`` or ``keep``."""
    from airflow_config_providers.core.resolver import Unresolved  # noqa: PLC0415 - few DAG files need it

    choices = [choice.value for choice in Unresolved]
    if text not in choices:
        raise ConfigException(
            f"{where}: '{printable(str(text))}' is not one of {', '.join(choices)}{nearest(str(text), choices)}"
        )
    return Unresolved(text)


def unknown_keys() -> UnknownKeys:
    """Return what happens to a key whose spelling is close to one that Spark knows, or that its version lacks."""
    from airflow_config_providers.spark.key_check import UnknownKeys  # noqa: PLC0415 - no DAG file needs it

    name = "misspelt_keys" if _text("misspelt_keys") else "unknown_keys"
    text, choices = _text(name), [choice.value for choice in UnknownKeys]
    if text not in choices:
        raise ConfigException(
            f"[{SECTION}] {name}: '{printable(text)}' is not one of {', '.join(choices)}"
            f"{nearest(text, choices) or '.'} Correct it in airflow.cfg."
        )
    return UnknownKeys(text)


def _text(option: str) -> str:
    default = OPTIONS[option].default
    return str(conf.get(SECTION, option, fallback=default) or default).strip()


def _secret(option: str) -> str:
    """Return a text that no message may show. Airflow's error about a command quotes what the command has printed."""
    try:
        return _text(option)
    except config_errors():
        pass
    raise ConfigException(
        f"[{SECTION}] {option} cannot be read. If {option}_cmd is set, its command has failed: run it on this machine, "
        f"as the user of this process."
    )


def _number(option: str) -> int:
    """Return a whole number, or 0 for anything else: none of the options that use this allow 0."""
    text = _text(option)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _seconds(option: str, *, least: int) -> float:
    text = _text(option)
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= _DAY:
        raise ConfigException(
            f"[{SECTION}] {option}: expected a number of seconds from {least} to {_DAY}. Correct it in airflow.cfg."
        )
    return float(text)


def _boolean(option: str) -> bool:
    return bool(conf.getboolean(SECTION, option, fallback=OPTIONS[option].default == "True"))


def _list(option: str) -> list[str]:
    return [item for part in _text(option).split(",") if (item := part.strip())]
