"""Turn layers into the configuration that a job gets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.keys import CONFIG_PROVIDERS
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig, layer_problems
from airflow_config_providers.core.lookup import PATIENT, FetchOptions
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.reference_problems import Part, UnansweredReferences, failures
from airflow_config_providers.core.resolved_config import ResolvedConfig
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.transformer import DEFAULT_LIMITS, ConfigTransformer, Limits
from airflow_config_providers.core.variable import odd_references, scan
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, refuse_together

if TYPE_CHECKING:
    from airflow_config_providers.core.definition.config_def import ConfigDef


class Unresolved(Enum):
    """What happens to a reference without an answer."""

    FAIL = "fail"
    KEEP = "keep"
    """As in KIP-297: the reference stays in the value."""


def settle(layers: Sequence[ConfigLayer], definition: ConfigDef | None = None) -> LayeredConfig:
    """
    Choose the winners of ``layers``. Fetches nothing.

    :raises ConfigException: a layer has a key or a value that is not allowed
    """
    refuse_together(problem for layer in layers for problem in layer_problems(layer))
    return LayeredConfig(layers, definition)


class ConfigResolver:
    """
    Settles layers, fetches the references of the winners, checks types, and reports all problems in one error.

    Only winners are fetched: a shadowed secret is never read. A resolved value is never searched for
    references again. Safe to use from several threads.

    :param config_providers: name -> configured provider; the caller closes them
    :param definition: types, validators, defaults and which keys are sensitive
    :param unresolved: what happens to a reference without an answer
    :param foreign: provider names that the reader of the configuration resolves itself, such as Spark's ``env``;
        their references stay unchanged unless a provider has that name
    :param limits: limits on what one configuration can ask for
    :param home: where the providers are defined, for messages
    :param options: how providers are asked
    """

    def __init__(  # noqa: PLR0913 - all but one are optional
        self,
        config_providers: Mapping[str, ConfigProvider],
        definition: ConfigDef | None = None,
        unresolved: Unresolved = Unresolved.FAIL,
        foreign: Collection[str] = (),
        limits: Limits = DEFAULT_LIMITS,
        *,
        home: str = CONFIG_PROVIDERS,
        options: FetchOptions = PATIENT,
    ) -> None:
        self._transformer = ConfigTransformer(config_providers, limits, options)
        self._definition = definition
        self._unresolved = Unresolved(unresolved)
        self._unanswered = UnansweredReferences(config_providers, foreign, home)

    def settle(self, layers: Sequence[ConfigLayer]) -> LayeredConfig:
        """
        Choose the winners of ``layers``. Fetches nothing.

        :raises ConfigException: a layer has a key or a value that is not allowed
        """
        return settle(layers, self._definition)

    @clearing_frames
    def resolve(
        self, layers: Sequence[ConfigLayer] | LayeredConfig, texts: Mapping[str, str] | None = None
    ) -> ResolvedConfig:
        """
        Settle ``layers`` and replace the references of the winners by values.

        :param layers: the layers, or the result of ``settle`` for them
        :param texts: further strings by name, resolved in the same requests
        :raises AccessDeniedError: a provider refused
        :raises ProviderUnavailableError: a provider could not answer
        :raises UnresolvedReferenceError: a reference has no answer
        :raises ConfigException: a value does not fit its type
        """
        layered, texts = layers if isinstance(layers, LayeredConfig) else self.settle(layers), texts or {}
        refuse_odd_references(layered, texts)
        opened = _opened(layered)
        settled = layered.settled.copy()  # each key of a view is looked up when it is copied as a mapping
        configs, others = self._transformer.attempt(settled, texts)
        parts = Part(configs, layered.place), Part(others, printable)
        answered = configs.data
        if missing := configs.unresolved:
            answered = {name: text for name, text in answered.items() if name not in missing}
        unanswered = self._unanswered.problems(parts) if self._unresolved is Unresolved.FAIL else ()
        refuse_together([*failures(parts), *unanswered, *self._misfits(layered, answered)])
        return ResolvedConfig(layered, [configs, others], opened, texts)

    def require_fitting(self, layered: LayeredConfig) -> None:
        """
        Make sure that the values without references fit their types, without reading a secret.

        :raises ConfigException: one does not; names all of them
        """
        plain = {name: text for name, text in layered.settled.items() if not scan(text)}
        refuse_together(self._misfits(layered, plain))

    def _misfits(self, layered: LayeredConfig, values: Mapping[str, str | None]) -> Iterator[ConfigProvidersError]:
        if self._definition is None:
            return
        for name in sorted(values.keys() & self._definition.names()):
            if name not in layered.secrets:
                for reason in self._definition.misfit_reasons(name, values[name]):
                    yield ConfigException(f"{layered.place(name)}: {reason}")


def _opened(layered: LayeredConfig) -> dict[str, str]:
    """Decrypt the secrets that won, before any provider is asked."""
    problems: list[ConfigProvidersError] = []
    opened: dict[str, str] = {}
    for key, open_ in layered.secrets.items():
        try:
            opened[key] = open_()
        except ConfigProvidersError as error:
            problems += [ConfigException(f"{layered.place(key)}: {problem}") for problem in error.problems]
    refuse_together(problems)
    return opened


def refuse_odd_references(layered: LayeredConfig, texts: Mapping[str, str]) -> None:
    """
    Make sure that no reference looks like another one, without reading a secret.

    :raises ConfigException: one does; names all of them
    """
    refuse_together([*_odd_references(layered.settled, layered.place), *_odd_references(texts, printable)])


def _odd_references(texts: Mapping[str, str], place: Callable[[str], str]) -> Iterator[ConfigProvidersError]:
    together = "".join(texts.values())
    if together.isascii() and together.isprintable():
        return
    for name, text in texts.items():
        yield from (ConfigException(f"{place(name)}: {problem}") for problem in odd_references(text))
