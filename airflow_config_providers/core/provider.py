"""The contract of a ConfigProvider (KIP-297)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, TypeVar

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.exceptions import ProviderDefinitionError

_T = TypeVar("_T")
ConfigChangeCallback = Callable[[str, ConfigData], None]


class ConfigProvider(ABC):
    """
    Answers references: for a path, the values of some keys.

    ``get`` is called from several threads at once. A provider is configured once before the first
    ``get`` and closed once after the last; it reads and connects no earlier than ``configure``.

    ``required_params`` are the parameters, each with an example, without which a deployment does not open
    the provider: those that say what it may read. ``params`` are the names of all parameters, so that others are
    refused; one that ends with a dot stands for all that begin with it. None: ``configure`` decides.
    """

    required_params: ClassVar[Mapping[str, str]] = {}
    params: ClassVar[Collection[str] | None] = None

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027 - not every provider has parameters
        """
        Take the provider's parameters, the ``config.providers.<name>.param.*`` with that prefix cut off.

        :raises ProviderDefinitionError: the parameters cannot be used
        """

    @abstractmethod
    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Read values at ``path``.

        :param path: where the keys are; may be empty
        :param keys: the keys wanted; None for all, and an empty collection for none
        :return: the keys found; a missing key is left out, an empty value is a value
        :raises AccessDeniedError: the provider refuses
        :raises ProviderUnavailableError: the provider cannot answer now
        """

    def check(self) -> str | None:
        """
        Find out whether the provider can answer, without reading a value; for ``test connection``.

        :return: what there is to tell where it can, such as a number; None for nothing
        :raises AccessDeniedError: it refuses to answer anything
        :raises ProviderUnavailableError: it cannot answer now
        """
        return None

    def environment_names(self, configs: Mapping[str, Any]) -> Collection[str]:
        """
        Return the names of the environment variables that it may give: what a task starts does not inherit them.

        Asked of a provider that was not configured, also where nothing refers to it; it connects to nothing.

        :param configs: what ``configure`` would take
        :raises ProviderDefinitionError: the parameters cannot be used
        """
        return ()

    def require_allowed(self, configs: Mapping[str, Any], path: str, keys: Collection[str]) -> None:  # noqa: B027 - few can tell
        """
        Refuse what ``get`` would refuse whatever there is to read, as far as the parameters tell.

        Asked of a provider that was not configured, about a reference that is to be stored; it connects to nothing.

        :param configs: what ``configure`` would take
        :raises AccessDeniedError: the provider would refuse
        :raises ConfigException: the path or a key means nothing
        :raises ProviderDefinitionError: the parameters cannot be used
        """

    def subscribe(self, path: str, keys: Collection[str], callback: ConfigChangeCallback) -> None:
        """Have ``callback(path, data)`` called when a value changes; unsupported unless overridden."""
        raise NotImplementedError(f"{type(self).__name__} does not support subscriptions")

    def unsubscribe(self, path: str, keys: Collection[str], callback: ConfigChangeCallback) -> None:
        """Take back one ``subscribe``; unsupported unless overridden."""
        raise NotImplementedError(f"{type(self).__name__} does not support subscriptions")

    def unsubscribe_all(self) -> None:
        """Take back every ``subscribe``; unsupported unless overridden."""
        raise NotImplementedError(f"{type(self).__name__} does not support subscriptions")

    def leave_lent(self, *, is_left: bool) -> None:  # noqa: B027 - not every provider lends something
        """
        Leave what was lent, such as a lease, when the provider is closed or the process killed, or no longer do so.

        Called while a job that goes on without this process has it. What is left ends by itself. May be called in a
        signal handler.
        """

    def close(self) -> None:  # noqa: B027 - not every provider holds something
        """Give back what the provider holds. Called once, also after a failure."""


class BatchConfigProvider(ConfigProvider):
    """A provider that can read several paths with fewer requests than one for each."""

    @abstractmethod
    def get_batch(self, wanted: Mapping[str, Collection[str]]) -> Mapping[str, ConfigData | Exception]:
        """
        Read values at several paths together. As ``get``, it is called from several threads at once.

        :param wanted: path -> the keys wanted there
        :return: path -> what ``get`` would give, or the exception that it would raise; a path that is left out is
            asked for with ``get``
        :raises AccessDeniedError: the provider refuses all of it
        :raises ProviderUnavailableError: the provider cannot answer now
        """


def configured(state: _T | None) -> _T:
    """
    Give what a provider made of its parameters in ``configure``.

    :raises ProviderDefinitionError: None, so ``configure`` was not called
    """
    if state is None:
        raise ProviderDefinitionError("The provider has not been configured yet. Call configure() before get().")
    return state
