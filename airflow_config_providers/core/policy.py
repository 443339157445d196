"""Rules for changes to a configuration (KIP-935)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar, Final

from airflow_config_providers.core.errors import kind_and_place
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, PolicyViolation

__all__ = [
    "AlterConfigPolicy",
    "Denial",
    "Enforcement",
    "Judged",
    "Moment",
    "NamedPolicy",
    "PolicyViolation",
    "RequestMetadata",
    "judged",
    "validate_all",
]


class Moment(Enum):
    """The occasion on which a policy is asked."""

    ALTER = "alter"
    """A change is about to be written: before and after are the resource's own configuration."""
    RENDER = "render"
    """A task is about to run: before is without dynamic layers and run configuration, after is with them."""


@dataclass(frozen=True, slots=True)
class RequestMetadata:
    """
    A change, as a policy sees it.

    A key that is deleted, or was never set, is absent, however the change was requested: a key with the value None is
    left out. Values keep their references; a plaintext secret is ``[hidden]``. Read-only.

    :param resource: the resource that is changed
    :param configs_before: key -> string, of the whole resource
    :param configs_after: key -> string, of the whole resource
    :param hidden_changes: keys whose secret changes although both configurations show ``[hidden]``
    :param texts: strings with references outside the configuration of a task, such as ``env_vars['TOKEN']``, by name;
        empty for ``Moment.ALTER``
    :param origins: key -> the layer and place of its value; empty for ``Moment.ALTER``
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
    """
    Allows or denies a change. One object serves all changes of a process, from several threads at once.

    ``params`` are the names of all parameters, so that a file of policies is refused that has others. None:
    ``configure`` decides.
    """

    params: ClassVar[Collection[str] | None] = None

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027 - not every policy has parameters
        """
        Set the policy's parameters; called once.

        :raises ConfigException: they are not valid
        """

    @abstractmethod
    def validate(self, request: RequestMetadata) -> None:
        """
        Return if the change is allowed.

        :raises PolicyViolation: it is not; one sentence for each reason, without sensitive values
        """

    def is_asked(self, request: RequestMetadata) -> bool:
        """
        Return whether the policy checks such a change; one that does not neither allows nor denies it.

        :raises PolicyViolation: that cannot be said
        """
        return True

    @property
    def subject(self) -> str:
        """The names of the keys that the policy is about, in a string, so that a denial can show where they are set."""
        return ""

    def close(self) -> None:  # noqa: B027 - not every policy holds something
        """Release what the policy holds."""


class Enforcement(Enum):
    """What follows if a policy finds a reason against a change."""

    DENY = "deny"
    """The change is denied."""
    WARN = "warn"
    """The reason is only reported."""


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """
    A policy and its name.

    :param name: as in the deployment's list of policies
    :raises ConfigException: ``enforcement`` is no member of its class
    """

    name: str
    policy: AlterConfigPolicy
    enforcement: Enforcement = Enforcement.DENY

    def __post_init__(self) -> None:
        if not isinstance(self.enforcement, Enforcement):  # of a policy that denies, no mistake may make one that warns
            raise ConfigException(f"Policy '{printable(self.name)}': enforcement is no member of Enforcement. Use one.")


def validate_all(policies: Sequence[NamedPolicy], request: RequestMetadata) -> None:
    """
    Ask every policy. A policy that raises any other error, or ends the process, denies, too, unless it only warns.

    :raises PolicyViolation: a policy denies; names each of them, with its reasons
    """
    judged(policies, request).enforce()


@dataclass(frozen=True, slots=True)
class Denial:
    """
    Why a policy denies a change or, if it only warns, would deny it.

    :param reason: what the policy says
    :param text: the same with the policy, with what it denies, and with the places of the keys
    """

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Judged:
    """
    What all policies say of a change.

    :param warnings: why those that only warn would deny it
    :param allowed_by: the names of those that were asked, and have no reason against it
    """

    denials: tuple[Denial, ...] = ()
    warnings: tuple[Denial, ...] = ()
    allowed_by: tuple[str, ...] = ()

    def enforce(self) -> None:
        """
        Return if no policy denies the change.

        :raises PolicyViolation: names each policy that denies it, with its reasons
        """
        if self.denials:
            raise PolicyViolation(*(denial.text for denial in self.denials))


def judged(policies: Sequence[NamedPolicy], request: RequestMetadata) -> Judged:
    """Ask every policy as ``validate_all`` does, and return what all of them say."""
    found = [(named, _denials(named, request)) for named in policies]
    return Judged(
        tuple(one for named, said in found if named.enforcement is Enforcement.DENY for one in said),
        tuple(one for named, said in found if named.enforcement is Enforcement.WARN for one in said),
        tuple(named.name for named, said in found if not said and _is_asked(named.policy, request)),
    )


def _is_asked(policy: AlterConfigPolicy, request: RequestMetadata) -> bool:
    with suppress(PolicyViolation):
        return policy.is_asked(request)
    return False


def _denials(named: NamedPolicy, request: RequestMetadata) -> list[Denial]:
    """Ask one policy, and return its denials; empty if it allows the change."""
    who, what = f"Policy '{printable(named.name)}'", f"the {_NOUNS[request.at]} of {request.resource}"
    against, failed = _WORDS[named.enforcement]
    try:
        reasons = [(one, _places(one, named.policy, request)) for one in _reasons(named.policy, request)]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a third party's policy can raise anything, with a value in its message
        failure = f"failed with {kind_and_place(error)}"
        return [Denial(failure, f"{who} {failed.format(what, failure)}. Correct it.")]
    return [Denial(one, f"{who} {against.format(what)}: {one}{places}") for one, places in reasons]


def _reasons(policy: AlterConfigPolicy, request: RequestMetadata) -> tuple[str, ...]:
    try:
        policy.validate(request)
    except PolicyViolation as violation:
        return violation.problems
    return ()


def _places(reason: str, policy: AlterConfigPolicy, request: RequestMetadata) -> str:
    """Return where the keys in ``reason`` are set or, if it names none, those that the policy is about."""
    if not request.origins:
        return ""
    keys = keys_in(reason, request.origins) or keys_in(policy.subject, request.origins)
    return "".join(f" '{printable(key)}' is set in {printable(request.origins[key])}." for key in keys[:_MOST_PLACES])


def keys_in(text: str, known: Collection[str]) -> list[str]:
    """Return the ``known`` keys that ``text`` names as whole words, in the order of the text."""
    words = (word.strip(".") for word in re.findall(r"[\w./*-]+", text))
    return [word for word in dict.fromkeys(words) if word in known]


_MOST_PLACES: Final = 5
"""How many keys of a reason get a sentence that says where they are set."""

_NOUNS: Final = {Moment.ALTER: "change", Moment.RENDER: "configuration"}

_WORDS: Final = {
    Enforcement.DENY: ("denies {0}", "{1}, so {0} is denied"),
    Enforcement.WARN: ("only warns, and would deny {0}", "only warns, and {1}, so it would deny {0}"),
}
"""What reasons against a change mean for it, and what a failure does; with placeholders for the two."""
