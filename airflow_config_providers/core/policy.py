"""Rules for changes of a configuration (KIP-935)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import PolicyViolation

__all__ = [
    "AlterConfigPolicy",
    "Moment",
    "NamedPolicy",
    "PolicyViolation",
    "RequestMetadata",
    "denials",
    "validate_all",
]


class Moment(Enum):
    """When a policy is asked."""

    ALTER = "alter"
    """A change is about to be written: before and after are what the resource itself has."""
    RENDER = "render"
    """A task is about to run: before is what it has without dynamic layers and run configuration, after is all."""


@dataclass(frozen=True, slots=True)
class RequestMetadata:
    """
    A change, as a policy sees it.

    A key that is deleted, or was never set, is absent, whichever way the change was asked for: one that is given as
    None is left out. Values hold their references; a secret that is written out is ``[hidden]``. Read only.

    :param resource: what is changed
    :param configs_before: key -> text, of the whole resource
    :param configs_after: key -> text, of the whole resource
    :param hidden_changes: keys whose secret changes although ``[hidden]`` stands in both
    :param texts: what a task refers to beside its configuration, such as ``env_vars['TOKEN']``: name -> text with its
        references; of a change it is empty
    :param origins: key -> the layer and the place that its value comes from; of a change it is empty
    """

    resource: ConfigResource
    configs_before: Mapping[str, str] = field(repr=False)
    configs_after: Mapping[str, str] = field(repr=False)
    at: Moment = Moment.ALTER
    hidden_changes: frozenset[str] = frozenset()
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    origins: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "configs_before", _normal(self.configs_before))
        object.__setattr__(self, "configs_after", _normal(self.configs_after))
        object.__setattr__(self, "texts", _normal(self.texts))

    @property
    def changed(self) -> list[str]:
        """The keys that are set, changed or deleted, in order."""
        before, after = self.configs_before, self.configs_after
        seen = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        return sorted(seen | self.hidden_changes)


def _normal(configs: Mapping[str, str | None]) -> Mapping[str, str]:
    return MappingProxyType({key: text for key, text in configs.items() if text is not None})


class AlterConfigPolicy(ABC):
    """Allows a change, or refuses it. One object serves all changes of a process, from several threads at once."""

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027 - not every policy has parameters
        """
        Take the policy's parameters; called once.

        :raises ConfigException: they do not fit
        """

    @abstractmethod
    def validate(self, request: RequestMetadata) -> None:
        """
        Return for a change that is allowed.

        :raises PolicyViolation: it is not; one sentence for each reason, none with a value that is sensitive
        """

    @property
    def subject(self) -> str:
        """What the policy is about, as a text with names of keys, for people who look for a key that is denied."""
        return ""

    def close(self) -> None:  # noqa: B027 - not every policy holds something
        """Give back what the policy holds."""


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """
    A policy and what people call it.

    :param name: as in the deployment's list of policies
    """

    name: str
    policy: AlterConfigPolicy


def validate_all(policies: Sequence[NamedPolicy], request: RequestMetadata) -> None:
    """
    Ask every policy. One that fails in another way than by refusing denies too.

    :raises PolicyViolation: names each policy that denies, with its reasons
    """
    if problems := denials(policies, request):
        raise PolicyViolation(*problems)


def denials(policies: Sequence[NamedPolicy], request: RequestMetadata) -> list[str]:
    """Ask as ``validate_all`` does, and give the reasons, one sentence each; none where all allow it."""
    return [problem for named in policies for problem in _problems(named, request)]


def _problems(named: NamedPolicy, request: RequestMetadata) -> list[str]:
    who = f"Policy '{printable(named.name)}'"
    what = f"the {_NOUNS[request.at]} of {request.resource}"
    try:
        named.policy.validate(request)
    except PolicyViolation as violation:
        reasons = violation.problems or ("it does not say why.",)
        return [f"{who} denies {what}: {reason}{_places(reason, named.policy, request)}" for reason in reasons]
    except Exception as error:  # noqa: BLE001 - a third party's policy may raise anything; its text may hold a value
        return [f"{who} failed with {type(error).__name__}, so {what} is denied. Correct it."]
    return []


def _places(reason: str, policy: AlterConfigPolicy, request: RequestMetadata) -> str:
    """Say where the keys are set that a reason names or, if it names none, those that the policy is about."""
    if not request.origins:
        return ""
    keys = _keys_in(reason, request.origins) or _keys_in(policy.subject, request.origins)
    return "".join(f" '{printable(key)}' is set in {printable(request.origins[key])}." for key in keys[:_MOST_PLACES])


def _keys_in(text: str, known: Collection[str]) -> list[str]:
    words = (word.strip(".") for word in re.findall(r"[\w./*-]+", text))
    return [word for word in dict.fromkeys(words) if word in known]


_MOST_PLACES: Final = 5

_NOUNS: Final = {Moment.ALTER: "change", Moment.RENDER: "configuration"}
