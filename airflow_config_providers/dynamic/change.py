"""A change of one resource, checked and not yet written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.core.alter import Altered, ConfigResource
from airflow_config_providers.core.data import HIDDEN, Password
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.keys import key_problem, text_problem
from airflow_config_providers.core.policy import RequestMetadata
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.dynamic.document import Sealed, StoredConfig, Value
from airflow_config_providers.dynamic.history import difference
from airflow_config_providers.dynamic.layers import shown
from airflow_config_providers.exceptions import ConfigException, LimitExceededError, ReservedKeyError

LONGEST_VALUE: Final = 64 * 1024
"""Characters of one value."""

MOST_CHARACTERS: Final = 1024 * 1024
"""Characters of all that one resource has."""

MOST_OPERATIONS: Final = 1000
"""Operations on one resource in one request."""

Edit = Callable[[Mapping[str, Value]], Altered[Value]]
"""Gives what a resource is to have, of what it has; a secret that is new is still a text."""

Seal = Callable[[Password], str]
"""Gives the encrypted text of a secret."""

Objections = Callable[[ConfigResource, Mapping[str, str]], Mapping[str, Sequence[str]]]
"""Gives key -> what is wrong with the text that a resource is to have under it; nothing for one that may be set."""


def no_objections(resource: ConfigResource, texts: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """Object to nothing."""
    return {}


def on_texts(change: Callable[[Mapping[str, str]], Altered[str]]) -> Edit:
    """Make an edit of one that sees texts, and for a sealed secret ``[hidden]``, which it may leave where it is."""

    def edit(values: Mapping[str, Value]) -> Altered[Value]:
        seen = shown(values)
        done = change(seen)
        after = {key: values[key] if seen.get(key) == text else text for key, text in done.after.items()}
        return Altered(after, done.problems, done.asked)

    return edit


def refuse_many(operations: int) -> None:
    """
    Refuse what would keep others waiting.

    :raises LimitExceededError: these are more than ``MOST_OPERATIONS``
    """
    if operations > MOST_OPERATIONS:
        raise LimitExceededError(
            f"{operations} operations in one request, and {MOST_OPERATIONS} are allowed. Make several requests."
        )


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """
    What a resource has and is to have.

    :param before: as it is stored
    :param after: as it will be
    """

    resource: ConfigResource
    before: StoredConfig
    after: Mapping[str, Value] = field(repr=False)

    @property
    def keys(self) -> list[str]:
        """The keys that change."""
        return difference(self.before.values, self.after)


Plans = Mapping[ConfigResource, PlannedChange]
"""What is planned for each resource of a request."""


def by_resource(plans: Iterable[PlannedChange]) -> Plans:
    """Return ``plans``, each under its resource."""
    return {plan.resource: plan for plan in plans}


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """
    A change, taken apart into what is right and what is wrong.

    :param plan: what is right
    :param problem: names all that is wrong with the rest
    :param asked: key -> text that the rest asks for, as people may see it
    """

    plan: PlannedChange
    problem: ConfigException | None = None
    asked: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_cleanup(self) -> bool:
        """Whether nothing is asked for but to delete what was once stored."""
        plan = self.plan
        return bool(plan.before.version) and not self.problem and plan.after.keys().isdisjoint(plan.keys)

    def requests(self) -> list[RequestMetadata]:
        """
        Give what policies are asked: nothing where nothing is right.

        Where something is wrong they are asked without it and with it: what they say to both is not because of it.
        """
        after, keys = shown(self.plan.after), frozenset(self.plan.keys)
        if not self.problem:
            return [self._request(after, keys)]
        if not keys:
            return []
        return [self._request(after, keys), self._request({**after, **self.asked}, keys | self.asked.keys())]

    def _request(self, after: Mapping[str, str], changed: frozenset[str]) -> RequestMetadata:
        before = shown(self.plan.before.values)
        return RequestMetadata(self.plan.resource, before, after, hidden_changes=changed)


@dataclass(frozen=True, slots=True)
class Planner:
    """
    Checks changes.

    :param definition: types, and which keys are sensitive
    :param seal: None where the deployment has no secret to encrypt with
    :param objections: what else speaks against a text that is new
    """

    definition: ConfigDef
    seal: Seal | None = None
    objections: Objections = no_objections

    def check(self, resource: ConfigResource, before: StoredConfig, edit: Edit) -> CheckedChange:
        """
        Make the change that ``edit`` describes, as far as it is right.

        :raises ConfigException: it cannot be made at all, or would be too large; names all that is wrong
        """
        done = edit(before.values)
        texts = _fresh(done.after, before.values)
        objections = self.objections(resource, texts) if texts else {}
        wrong = {
            key: found
            for key, text in texts.items()
            if (found := [*self._problems(resource, key, text), *map(ConfigException, objections.get(key, ()))])
        }
        problems = [*map(ConfigException, done.problems), *(problem for found in wrong.values() for problem in found)]
        asked = {**done.asked, **{key: texts[key] for key in wrong}}
        if too_much := list(_too_much({**done.after, **asked})):
            raise _together(resource, [*too_much, *problems])
        kept = {key: value for key, value in before.values.items() if key in wrong}
        right = {key: value for key, value in done.after.items() if key not in wrong}
        sealed = {key: self._value(key, texts[key]) for key in texts.keys() & right.keys()}
        return CheckedChange(
            PlannedChange(resource, before, {**right, **kept, **sealed}),
            _together(resource, problems) if problems else None,
            {key: HIDDEN if self._is_secret(key, text) else text for key, text in asked.items()},
        )

    def _value(self, key: str, text: str) -> Value:
        if not self._is_secret(key, text) or self.seal is None:
            return text
        return Sealed(self.seal(Password(text)))

    def _is_secret(self, key: str, text: str) -> bool:
        return self.definition.is_secret(key, text) and not scan(text)

    def _problems(self, resource: ConfigResource, key: str, text: str) -> Iterator[ConfigException]:
        where = f"'{printable(key)}'"
        if problem := key_problem(key, where) or text_problem(text, where):
            yield problem
            return
        if len(text) > LONGEST_VALUE:
            yield ConfigException(f"{where} has {len(text)} characters, and {LONGEST_VALUE} are allowed.")
        elif self._is_secret(key, text):
            yield from self._problems_of_secret(where, text)
        if reason := self.definition.read_only_reason(key):
            yield ConfigException(f"{where} is read-only: {reason}")
        elif resource.type not in (kinds := self.definition.alterable_at(key)):
            elsewhere = " or ".join(f"{kind.phrase} ({kind.name})" for kind in kinds)
            yield ConfigException(f"{where} cannot be altered here. Alter it for {elsewhere}.")
        if key in self.definition.names() and not scan(text):
            yield from (ConfigException(misfit) for misfit in self.definition.misfits(key, text))

    def _problems_of_secret(self, where: str, text: str) -> Iterator[ConfigException]:
        if text == HIDDEN:
            yield ConfigException(f"{where}: {HIDDEN} stands for a secret that is not shown. Write a reference.")
        elif self.seal is None:
            yield ConfigException(
                f"{where} is a secret that is written out, and this deployment cannot encrypt it. Write a reference, "
                f"or set password_encoder_secret in [config_providers]."
            )


def _fresh(after: Mapping[str, Value], before: Mapping[str, Value]) -> dict[str, str]:
    """Give the texts that were not there before."""
    return {key: value for key, value in after.items() if value != before.get(key) and isinstance(value, str)}


def _too_much(values: Mapping[str, Value]) -> Iterator[ConfigException]:
    size = sum(len(key) + len(value.text if isinstance(value, Sealed) else value) for key, value in values.items())
    if size > MOST_CHARACTERS:
        yield ConfigException(f"It would have {size} characters, and {MOST_CHARACTERS} are allowed.")


def _together(resource: ConfigResource, problems: list[ConfigException]) -> ConfigException:
    is_reserved = any(isinstance(problem, ReservedKeyError) for problem in problems)
    sentences = [f"{resource}: {sentence}" for problem in problems for sentence in problem.problems]
    return (ReservedKeyError if is_reserved else ConfigException)(*sentences)
