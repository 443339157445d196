"""
The settings of the deployment, section ``[config_providers]``.

Each setting is read when it is needed, so that it can differ between tests and between processes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeVar

from airflow_config_providers.airflow_compat import conf, config_errors
from airflow_config_providers.core.text import not_one_of, octets, whole_number
from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.get_provider_info import OPTIONS

if TYPE_CHECKING:
    from airflow_config_providers.core.lookup import FetchOptions
    from airflow_config_providers.core.resolver import Unresolved
    from airflow_config_providers.core.sensitive import Password
    from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
    from airflow_config_providers.spark.known_keys import UnknownKeys

_Choice = TypeVar("_Choice", bound=Enum)

SECTION: Final = "config_providers"

_LEAST_OCTETS: Final = 16
"""NIST SP 800-132 requires at least 112 bits in the secret from which a key is derived."""

_DAY_SECONDS: Final = 24 * 60 * 60
"""The longest time that a setting can have: more is a mistake, such as milliseconds, or waits for ever."""

_OF_ENCODER: Final = {
    "keyFactoryAlgorithm": "password_encoder_keyfactory_algorithm",
    "cipherAlgorithm": "password_encoder_cipher_algorithm",
    "keyLength": "password_encoder_key_length",
    "iterations": "password_encoder_iterations",
}
"""Name that KIP-226 writes into encrypted strings -> name of the setting."""


class ResolveIn(Enum):
    """Where references are resolved."""

    AUTO = "auto"
    """In the driver if the job leaves the machine and driver providers are defined; otherwise on the worker."""
    WORKER = "worker"
    DRIVER = "driver"


def parse_choice(kind: type[_Choice], text: str, *, where: str, file: str = "the DAG file") -> _Choice:
    """
    Return the member of ``kind`` that has this value.

    :param where: the place of the string, for the message
    :param file: the file to correct
    :raises ConfigException: there is no such member
    """
    choices = [one.value for one in kind]
    if text not in choices:
        raise ConfigException(f"{where}: {not_one_of(str(text), choices)} Correct it in {file}.")
    return kind(text)


def _text(option: str) -> str:
    default = OPTIONS[option].default
    return str(conf.get(SECTION, option, fallback=default) or default).strip()


def _secret(option: str) -> str:
    """Return a text that no message may show. Airflow's error about a command quotes what the command has printed."""
    try:
        found = _text(option)
    except config_errors():
        pass
    else:
        if not found:
            _refuse_hidden(option)
        return found
    raise ConfigException(
        f"[{SECTION}] {option} cannot be read. If {option}_cmd is set, its command has failed: run it on this machine, "
        f"as the user of this process."
    )


def _refuse_hidden(option: str) -> None:
    """
    Refuse an empty option in front of a command or a secret that has its value.

    :raises ConfigException: Airflow does not look behind the empty option
    """
    in_file = set(conf.options(SECTION)) if conf.has_section(SECTION) else set()
    for indirect in (f"{option}_cmd", f"{option}_secret"):
        if in_file >= {option, indirect}:
            raise ConfigException(
                f"[{SECTION}] {option} is empty, so Airflow does not read {indirect}. Remove the empty line from "
                f"airflow.cfg."
            )


def _list(option: str) -> tuple[str, ...]:
    return tuple(item for part in _text(option).split(",") if (item := part.strip()))


def _boolean(option: str) -> bool:
    return bool(conf.getboolean(SECTION, option, fallback=OPTIONS[option].default == "True"))


def _positive(option: str) -> int:
    if number := whole_number(_text(option)):
        return number
    raise ConfigException(f"[{SECTION}] {option}: expected a whole number from 1. Correct it in airflow.cfg.")


def _seconds(option: str, *, least: int = 1) -> float:
    number = whole_number(_text(option), least=least, most=_DAY_SECONDS)
    if number is not None:
        return float(number)
    raise ConfigException(
        f"[{SECTION}] {option}: expected a number of seconds from {least} to {_DAY_SECONDS}. Correct it in airflow.cfg."
    )


def _choice(option: str, kind: type[_Choice]) -> _Choice:
    return parse_choice(kind, _text(option), where=f"[{SECTION}] {option}", file="airflow.cfg")


# Each of these reads the option of its name; the table of ``OPTIONS`` says what that means.
apply_to: Final = partial(_list, "apply_to")
opt_out_enabled: Final = partial(_boolean, "opt_out_enabled")
allow_exposed_arguments: Final = partial(_boolean, "allow_exposed_arguments")

resolve_in: Final = partial(_choice, "resolve_in", ResolveIn)
run_config_enabled: Final = partial(_boolean, "run_config_enabled")
run_config_references: Final = partial(_boolean, "run_config_references")
run_config_key: Final = partial(_text, "run_config_key")
environment_enabled: Final = partial(_boolean, "environment_enabled")
dynamic_enabled: Final = partial(_boolean, "dynamic_enabled")
records_enabled: Final = partial(_boolean, "records_enabled")
records_path: Final = partial(_text, "records_path")
follow_interval: Final = partial(_seconds, "follow_interval")
password_encoder_secret: Final = partial(_secret, "password_encoder_secret")
password_encoder_old_secret: Final = partial(_secret, "password_encoder_old_secret")
policies_file: Final = partial(_text, "policies_file")
allowed_policy_classes: Final = partial(_list, "allowed_policy_classes")
allowed_provider_classes: Final = partial(_list, "allowed_provider_classes")
config_files: Final = partial(_list, "config_files")
config_paths: Final = partial(_list, "config_paths")
max_workers: Final = partial(_positive, "max_workers")
resolve_timeout: Final = partial(_seconds, "resolve_timeout")
reload_settling: Final = partial(_seconds, "reload_settling", least=0)
reloads_per_hour: Final = partial(_positive, "reloads_per_hour")


def config_conn_id(chosen: str | None = None) -> str:
    """Return the connection that defines the providers: ``chosen`` by an author, or for None, by the deployment."""
    return _text("config_conn_id") if chosen is None else chosen


def fetch_options() -> FetchOptions:
    """Return how providers are asked for the values of references."""
    from airflow_config_providers.core.lookup import PATIENT  # noqa: PLC0415 - no DAG file needs it

    return replace(PATIENT, max_workers=max_workers(), timeout=resolve_timeout())


def unresolved() -> Unresolved:
    """Return what happens to a reference that no provider answers."""
    from airflow_config_providers.core.resolver import Unresolved  # noqa: PLC0415 - few DAG files need it

    return _choice("unresolved", Unresolved)


def unknown_keys() -> UnknownKeys:
    """Return what happens to a key whose spelling is close to one that Spark knows, or that its version lacks."""
    from airflow_config_providers.spark.known_keys import UnknownKeys  # noqa: PLC0415 - no DAG file needs it

    return _choice("misspelt_keys" if _text("misspelt_keys") else "unknown_keys", UnknownKeys)


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

    Its other settings are read when it is first called, so that a wrong setting does not affect callers that only read.
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
    from airflow_config_providers.dynamic.password_encoder import EncoderSettings, PasswordEncoder  # noqa: PLC0415 - few need it

    key_factory = _text("password_encoder_keyfactory_algorithm")
    cipher = _text("password_encoder_cipher_algorithm")
    key_length = whole_number(_text("password_encoder_key_length")) or 0
    iterations = whole_number(_text("password_encoder_iterations")) or 0
    wrong = EncoderSettings(key_factory.upper(), cipher.upper(), key_length, iterations).wrong()
    refuse(ConfigException, (f"[{SECTION}] {_OF_ENCODER[field]} {what}" for field, what in wrong.items()))
    return PasswordEncoder(
        secret,
        old_secret=password_encoder_old_secret() or None,
        key_factory_algorithm=key_factory,
        cipher_algorithm=cipher,
        key_length=key_length,
        iterations=iterations,
    )


def longest_field() -> int:
    """Return the number of characters above which Airflow truncates a template field that it stores."""
    return int(conf.getint("core", "max_templated_field_length"))
