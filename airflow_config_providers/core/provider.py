"""The contract of a ConfigProvider (KIP-297), and of its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from os import urandom
from typing import Any, ClassVar, Final, TypeVar

from airflow_config_providers.core.text import octets, printable
from airflow_config_providers.exceptions import ProviderDefinitionError, ProviderLookupError

_T = TypeVar("_T")


_NUMBERS: Final = (int, float, type(None))
"""The types of a plain number, or of none."""


@dataclass(frozen=True, slots=True)
class ConfigData:
    """
    The answer of a provider for one path (KIP-297).

    :param data: key -> value; a key that the provider does not have is left out
    :param ttl: milliseconds for which the values are valid, counted from the answer; None if unknown
    :param absence: sentences that explain why there is nothing at the path, or why a key is missing, without values;
        empty if nothing is missing or the provider does not know
    :param denials: key -> sentences that explain why the provider refuses to return it, whether or not it exists; the
        key is not in ``data``, as with Kafka's providers, and a task fails as with any other refusal
    """

    data: Mapping[str, str] = field(repr=False)
    ttl: int | None = None
    absence: str = field(default="", compare=False)
    denials: Mapping[str, str] = field(default_factory=dict, compare=False)


class ContentHash:
    """
    Hashes values with a secret key, so that equal contents can be recognized and nothing else be learned.

    Each object makes its own key, so hashes can be compared only with those of the same object, in this process.
    """

    __slots__ = ("_key",)

    def __init__(self) -> None:
        self._key = urandom(32)

    def of(self, configs: Mapping[str, str]) -> bytes:
        """Return the hash of ``configs``, in any order; a key without a value differs from one with an empty value."""
        from hashlib import blake2b  # noqa: PLC0415 - slow to import, and few processes compare contents

        digest = blake2b(key=self._key, digest_size=16)
        for name in sorted(configs):
            for part in (octets(name), octets(configs[name])):
                digest.update(len(part).to_bytes(8) + part)
        return digest.digest()


ConfigChangeCallback = Callable[[str, ConfigData], None]


class ConfigProvider(ABC):
    """
    Answers references: for a path, the values of some keys.

    ``get`` is called from several threads at once. A provider is configured once before the first
    ``get`` and closed once after the last; it reads and connects no earlier than ``configure``.

    ``required_params`` are the parameters, each with an example, without which a deployment does not open
    the provider: they limit what it can read. ``params`` are the names of all parameters, so that others are
    refused; a name that ends with a dot matches all names that begin with it. None: ``configure`` decides.
    """

    required_params: ClassVar[Mapping[str, str]] = {}
    params: ClassVar[Collection[str] | None] = None

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027 - not every provider has parameters
        """
        Set the provider's parameters: ``config.providers.<name>.param.*`` without that prefix.

        :raises ProviderDefinitionError: the parameters cannot be used
        """

    @abstractmethod
    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Read values at ``path``.

        :param path: where the keys are; can be empty
        :param keys: the keys wanted; None for all, and an empty collection for none
        :return: the keys found; a missing key is left out, an empty value is a value
        :raises AccessDeniedError: the provider refuses
        :raises ProviderUnavailableError: the provider cannot answer now
        """

    def check(self) -> str | None:
        """
        Check whether the provider can answer, without reading a value; for ``test connection``.

        :return: details to report if it can, such as a number of keys; None for none
        :raises AccessDeniedError: it refuses to answer anything
        :raises ProviderUnavailableError: it cannot answer now
        """
        return None

    def environment_names(self, configs: Mapping[str, Any]) -> Collection[str]:
        """
        Return the names of the environment variables that it can read; processes started by a task do not inherit them.

        Called before or after ``configure``, even if no reference uses the provider; it must not connect to anything.

        :param configs: the parameters, as for ``configure``
        :raises ProviderDefinitionError: the parameters cannot be used
        """
        return ()

    def require_allowed(self, configs: Mapping[str, Any], path: str, keys: Collection[str]) -> None:  # noqa: B027 - few can
        """
        Refuse what the parameters alone make ``get`` refuse.

        Called before the provider is configured, for a reference that is about to be stored; it must not connect to
        anything.

        :param configs: the parameters, as for ``configure``
        :raises AccessDeniedError: the provider would refuse
        :raises ConfigException: the path or a key is not valid
        :raises ProviderDefinitionError: the parameters cannot be used
        """

    def form_problem(self, path: str, key: str) -> str:
        """
        Return why no reference with this path and key can have a value, whatever the parameters are; empty if one can.

        Called by ``lint``, before the provider is configured, and for the error about a reference without a value. It
        must not connect to anything. The reason shows neither path nor key: what looks like a default in them can be a
        secret.
        """
        return ""

    def subscribe(self, path: str, keys: Collection[str] | None, callback: ConfigChangeCallback) -> None:
        """
        Call ``callback(path, data)`` after each change of a value; unsupported unless overridden.

        ``data`` has the values of all of ``keys``; None for all keys at ``path``. A ``PolledConfigProvider`` reads
        again from time to time.
        """
        raise NotImplementedError(f"{type(self).__name__} does not support subscriptions")

    def unsubscribe(self, path: str, keys: Collection[str] | None, callback: ConfigChangeCallback) -> None:
        """Undo one ``subscribe``; unsupported unless overridden."""
        raise NotImplementedError(f"{type(self).__name__} does not support subscriptions")

    def unsubscribe_all(self) -> None:
        """Undo every ``subscribe``; unsupported unless overridden."""
        raise NotImplementedError(f"{type(self).__name__} does not support subscriptions")

    def keep_leases(self, *, is_left: bool) -> None:  # noqa: B027 - not every provider lends something
        """
        Keep leases and the like when the provider is closed or the process is killed, or no longer keep them.

        Called while a job that outlives this process uses them. They then expire by themselves. Can be called in a
        signal handler.
        """

    def close(self) -> None:  # noqa: B027 - not every provider holds something
        """
        Release what the provider holds. Called once, also after a failure.

        Called in a thread that is waited for only a minute. When a task is killed, that can be in the middle of any
        other call.
        """


class BatchConfigProvider(ConfigProvider):
    """A provider that can read several paths with fewer requests than one per path."""

    @abstractmethod
    def get_batch(self, wanted: Mapping[str, Collection[str]]) -> Mapping[str, ConfigData | Exception]:
        """
        Read values at several paths together. Like ``get``, it is called from several threads at once.

        :param wanted: path -> the keys wanted there
        :return: path -> what ``get`` would return, or the exception that it would raise; a path that is left out is
            read with ``get``
        :raises AccessDeniedError: the provider refuses all of it
        :raises ProviderUnavailableError: the provider cannot answer now
        """


class SecretIdProvider(ConfigProvider):
    """A provider that can make a login for a driver, so that the driver resolves its references itself."""

    @abstractmethod
    def wrapped_secret_id(self, role: str, *, mount_point: str, seconds: int, login_seconds: int = 0) -> str:
        """
        Return a secret ID in a wrapping, which the driver can take off once. The secret ID may work more often.

        :param role: what the driver may read
        :param mount_point: where the login method is mounted; empty for its usual place
        :param seconds: how long the wrapping lasts
        :param login_seconds: how long the driver can sign in with the secret ID; 0, which may be left out, for as
            long as the role says
        :raises AccessDeniedError: the provider may not make one
        :raises ProviderLookupError: there is no such role, or the provider cannot answer
        """


def require_configured(state: _T | None) -> _T:
    """
    Return the ``state`` that ``configure`` made of the parameters.

    :raises ProviderDefinitionError: ``state`` is None, so ``configure`` was not called
    """
    if state is None:
        raise ProviderDefinitionError("The provider has not been configured yet. Call configure() before get().")
    return state


def only_text(name: str, answer: ConfigData) -> ConfigData:
    """
    Return the answer of provider ``name``, without keys that have None; raise if a part of it has another type.

    What is not made of plain dicts, strings and numbers is copied: a mapping could answer otherwise later, and a
    subclass of ``str`` could show itself as stars, hide from the reversal, or raise an error when it is compared. A key
    that is not a string is left out, since no reference has it.
    """
    if not isinstance(answer, ConfigData):
        raise ProviderLookupError(
            f"Provider '{printable(name)}' returned {type(answer).__name__}. Return a ConfigData; correct the provider."
        )
    if misfit := _misfit(answer.ttl, answer.absence, answer.denials):
        raise ProviderLookupError(f"Provider '{printable(name)}' returned {misfit}. Correct the provider.")
    if _is_plain(answer):
        return answer
    found = [(key, value) for key, value in answer.data.items() if value is not None]
    odd = sorted(printable(str(key)) for key, value in found if not isinstance(value, str))
    if odd:
        raise ProviderLookupError(
            f"Provider '{printable(name)}' returned something other than a string for {', '.join(odd)}. "
            f"A provider returns only strings; correct the provider."
        )
    denials = _plain((answer.denials or {}).items())
    return ConfigData(_plain(found), _plain_number(answer.ttl), str.__str__(answer.absence or ""), denials)


def _is_plain(answer: ConfigData) -> bool:
    parts: tuple[object, ...] = (answer.data, answer.denials)
    if type(answer) is not ConfigData or type(answer.absence) is not str or type(answer.ttl) not in _NUMBERS:
        return False
    return all(type(one) is dict and {*map(type, one), *map(type, one.values())} <= {str} for one in parts)


def _plain(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {str.__str__(key): str.__str__(value) for key, value in pairs if isinstance(key, str)}


def _plain_number(number: Any) -> Any:
    if type(number) in _NUMBERS:
        return number
    return float.__float__(number) if isinstance(number, float) else int.__int__(number)


def _misfit(ttl: object, absence: object, denials: object) -> str:
    """Return which part of an answer, besides its data, has another type than it should; empty if none has."""
    if not isinstance(ttl, int | float | None):
        return "a ttl that is no number of milliseconds"
    if absence and not isinstance(absence, str):
        return "an absence that is not a string"
    if denials and not _is_text(denials):
        return "denials that are not a mapping of strings to strings"
    return ""


def _is_text(denials: object) -> bool:
    return isinstance(denials, Mapping) and all(isinstance(text, str) for one in denials.items() for text in one)
