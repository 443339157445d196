"""A change of one resource that is checked but not yet written, and all the reasons why a request is refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.alter import AlterConfigOp, Altered, altered, whole
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.keys import LONGEST_KEY, key_problem, text_problem
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.core.policy import RequestMetadata
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.sensitive import HIDDEN, Password
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.dynamic.document import Sealed, StoredConfig, Value
from airflow_config_providers.dynamic.history import Change, as_of, difference, refuse_unrecorded
from airflow_config_providers.dynamic.inheritance import shown
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    LimitExceededError,
    PolicyViolation,
    ProviderUnavailableError,
    ReservedKeyError,
    gravest,
    refuse,
)

if TYPE_CHECKING:
    from types import TracebackType

LONGEST_VALUE: Final = 64 * 1024
"""The most characters in one value."""

MOST_CHARACTERS: Final = 1024 * 1024
"""The most characters in all keys and values of one resource."""

MOST_OPERATIONS: Final = 1000
"""The most operations on one resource in one request."""

Edit = Callable[[Mapping[str, Value]], Altered[Value]]
"""Returns the new configuration for the current one; new secrets are still plain text."""

Seal = Callable[[Password], str]
"""Returns the encrypted string of a secret."""

DynamicLayers = Callable[[ConfigResource], Sequence[ConfigLayer]]
"""Returns the layers of the dynamic configuration that a resource has and inherits."""

Objections = Callable[
    [ConfigResource, Mapping[str, str], DynamicLayers, DynamicLayers],
    Mapping[str, Sequence[str]],
]
"""
Returns key -> the reasons to refuse its new text; an acceptable key has none.

It is called with the resource, its new texts, and the dynamic layers before and after the change.
"""


def no_objections(
    resource: ConfigResource, texts: Mapping[str, str], before: DynamicLayers, after: DynamicLayers
) -> Mapping[str, Sequence[str]]:
    """Return no objections."""
    return {}


def altering(operations: Sequence[AlterConfigOp], definition: ConfigDef) -> Edit:
    """Return an edit that makes ``operations``."""

    def change(before: Mapping[str, str]) -> Altered[str]:
        refuse_many(len(operations))
        return altered(before, operations, definition, longest=LONGEST_VALUE)

    return _on_texts(change)


def replacing(wanted: Mapping[str, str | None]) -> Edit:
    """Return an edit after which the configuration is ``wanted``, in which each key needs a string."""

    def change(before: Mapping[str, str]) -> Altered[str]:
        refuse_many(sum(before.get(key) != text for key, text in wanted.items()))
        return whole(wanted)

    return _on_texts(change)


def returning(
    version: int, changes: Sequence[Change], *, versions: range, name: str, leave_out: Collection[str] = ()
) -> Edit:
    """
    Return an edit that restores a version by undoing later ones of ``changes``.

    :param versions: the versions of the document that are recorded
    :param name: the name of the resource in messages
    :param leave_out: the keys that stay as they are
    """

    def edit(now: Mapping[str, Value]) -> Altered[Value]:
        refuse_unrecorded(version, versions, name=name)
        then = as_of(version, now, changes)
        _refuse_equal(leave_out, difference(now, then))
        kept = {key: now[key] for key in leave_out if key in now}
        return Altered({key: value for key, value in then.items() if key not in leave_out} | kept)

    return edit


def _refuse_equal(leave_out: Collection[str], changed: Collection[str]) -> None:
    names = ", ".join(map(printable, changed)) or "none"
    problems = (
        f"'{printable(key)}' is left out, but restoring this version does not change it. It changes: {names}."
        for key in leave_out
        if key not in changed
    )
    refuse(ConfigException, problems)


def refuse_many(operations: int) -> None:
    """
    Refuse a request that would keep others waiting.

    :raises LimitExceededError: it has more than ``MOST_OPERATIONS``
    """
    if operations > MOST_OPERATIONS:
        raise LimitExceededError(
            f"{operations} operations in one request, but the limit is {MOST_OPERATIONS}. Make several requests."
        )


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """
    The configuration of a resource before and after a change.

    :param before: the stored configuration
    :param after: the values after the change
    :param warnings: why policies that only warn would deny it -> what the policy says
    """

    resource: ConfigResource
    before: StoredConfig
    after: Mapping[str, Value] = field(repr=False)
    warnings: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def keys(self) -> list[str]:
        """The keys that change."""
        return difference(self.before.values, self.after)


Plans = Mapping[ConfigResource, PlannedChange]
"""Resource of a request -> its planned change."""

LayersAfter = Callable[[Plans], DynamicLayers]
"""Returns the dynamic layers after planned changes."""


def by_resource(plans: Iterable[PlannedChange]) -> Plans:
    """Return resource -> plan for ``plans``."""
    return {plan.resource: plan for plan in plans}


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """
    A change, separated into a valid part and an invalid part.

    :param plan: the valid part
    :param problem: the error with all problems of the invalid part
    :param asked: key -> requested text of the invalid part, with secrets hidden
    :param sealed: key -> what policies see of a new secret
    """

    plan: PlannedChange
    problem: ConfigException | None = None
    asked: Mapping[str, str] = field(default_factory=dict, repr=False)
    sealed: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_cleanup(self) -> bool:
        """Whether the change only deletes stored keys."""
        plan = self.plan
        return bool(plan.before.version) and not self.problem and plan.after.keys().isdisjoint(plan.keys)

    def requests(self) -> list[RequestMetadata]:
        """
        Return the requests for policies; none if nothing is valid.

        If there is an invalid part, there is a request without it and one with it: problems that policies find in both
        are not caused by it.
        """
        after, keys = {**shown(self.plan.after), **self.sealed}, frozenset(self.plan.keys)
        if not self.problem:
            return [self._request(after, keys)]
        if not keys:
            return []
        return [self._request(after, keys), self._request({**after, **self.asked}, keys | self.asked.keys())]

    def _request(self, after: Mapping[str, str], changed: frozenset[str]) -> RequestMetadata:
        before = shown(self.plan.before.values)
        hidden = frozenset(key for key in changed if before.get(key) == after.get(key))
        return RequestMetadata(self.plan.resource, before, after, hidden_changes=hidden)


@dataclass(frozen=True, slots=True)
class Planner:
    """
    Checks changes.

    :param definition: the types of keys, and which keys are sensitive
    :param seal: encrypts secrets; None if the deployment has no secret to encrypt with
    :param objections: returns other reasons to refuse a new text
    """

    definition: ConfigDef
    seal: Seal | None = None
    objections: Objections = no_objections

    def check(
        self, resource: ConfigResource, before: StoredConfig, edit: Edit, layers_after: LayersAfter
    ) -> CheckedChange:
        """
        Return the change that ``edit`` describes, separated into a valid and an invalid part.

        :param layers_after: what other resources have is taken from here
        :raises ConfigException: the whole change is invalid, or too large; lists all problems
        """
        done = edit(before.values)
        texts = _fresh(done.after, before.values)
        objections = self._objections(resource, before, done.after, layers_after)
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
            {key: self._shown_to_policies(key, text) for key, text in asked.items()},
            {key: self._shown_to_policies(key, texts[key]) for key, one in sealed.items() if isinstance(one, Sealed)},
        )

    def _shown_to_policies(self, key: str, text: str) -> str:
        return self.definition.shown_to_policies(key, text) if self._is_secret(key, text) else text

    def _objections(
        self, resource: ConfigResource, before: StoredConfig, after: Mapping[str, Value], layers_after: LayersAfter
    ) -> Mapping[str, Sequence[str]]:
        """Return the objections to the new texts, without those that are refused by their size: they take long."""
        fresh = _fresh(after, before.values)
        texts = {key: text for key, text in fresh.items() if len(key) <= LONGEST_KEY and len(text) <= LONGEST_VALUE}
        if not texts:
            return {}
        fitting = {key: value for key, value in after.items() if key in texts or key not in fresh}
        now, then = layers_after({}), layers_after({resource: PlannedChange(resource, before, fitting)})
        return self.objections(resource, texts, now, then)

    def _value(self, key: str, text: str) -> Value:
        if not self._is_secret(key, text) or self.seal is None:
            return text
        return Sealed(self.seal(Password(text)))

    def _is_secret(self, key: str, text: str) -> bool:
        return LayeredConfig([], self.definition).is_secret(key, text)  # exactly what is not shown later

    def _problems(self, resource: ConfigResource, key: str, text: str) -> Iterator[ConfigException]:
        where = f"'{printable(key)}'"
        if problem := key_problem(key, where) or text_problem(text, where):
            yield problem
            return
        if len(text) > LONGEST_VALUE:
            yield ConfigException(f"{where} has {len(text)} characters, but the limit is {LONGEST_VALUE}.")
        elif self._is_secret(key, text):
            yield from self._problems_of_secret(where, text)
        if reason := self.definition.read_only_reason(key):
            yield ConfigException(f"{where} is read-only: {reason}")
        elif reason := self.definition.unalterable_value(key, text):
            yield ConfigException(f"{where} cannot have this value: {reason}")
        elif resource.type not in (kinds := self.definition.alterable_at(key)):
            elsewhere = " or ".join(f"{kind.phrase} ({kind.name})" for kind in kinds)
            yield ConfigException(f"{where} cannot be altered here. Alter it for {elsewhere}.")
        if key in self.definition.names() and not scan(text):
            yield from (ConfigException(misfit) for misfit in self.definition.misfits(key, text))

    def _problems_of_secret(self, where: str, text: str) -> Iterator[ConfigException]:
        if text == HIDDEN:
            yield ConfigException(f"{where}: {HIDDEN} only replaces a secret in output. Write a reference.")
        elif scan(text):  # encrypted, its references would be neither read nor seen by policies
            yield ConfigException(
                f"{where} has a plain-text secret beside a reference. Keep the secret outside, too, and write another "
                f"reference in its place."
            )
        elif self.seal is None:
            yield ConfigException(
                f"{where} is a plain-text secret, and this deployment cannot encrypt it. Write a reference, or set "
                f"password_encoder_secret in [config_providers]."
            )


def _on_texts(change: Callable[[Mapping[str, str]], Altered[str]]) -> Edit:
    """Return an edit for a change of plaintexts, which sees a sealed secret as ``[hidden]`` and may keep it so."""

    def edit(values: Mapping[str, Value]) -> Altered[Value]:
        seen = shown(values)
        done = change(seen)
        after = {key: values[key] if seen.get(key) == text else text for key, text in done.after.items()}
        return Altered(after, done.problems, done.asked)

    return edit


def _fresh(after: Mapping[str, Value], before: Mapping[str, Value]) -> dict[str, str]:
    """Return the strings that are new or changed."""
    return {key: value for key, value in after.items() if value != before.get(key) and isinstance(value, str)}


def _too_much(values: Mapping[str, Value]) -> Iterator[ConfigException]:
    size = sum(len(key) + len(value.text if isinstance(value, Sealed) else value) for key, value in values.items())
    if size > MOST_CHARACTERS:
        yield ConfigException(f"It would have {size} characters, but the limit is {MOST_CHARACTERS}.")


def _together(resource: ConfigResource, problems: list[ConfigException]) -> ConfigException:
    sentences = [f"{resource}: {sentence}" for problem in problems for sentence in problem.problems]
    return gravest(problems, (ReservedKeyError, ConfigException))(*sentences)


_KINDS: Final = (ReservedKeyError, ConfigException, PolicyViolation, ProviderUnavailableError, ConfigProvidersError)
"""First errors that users must correct, then decisions of policies, then temporary errors."""


class Reasons:
    """
    Collects errors; it is true if there are any.

    ``with reasons:`` catches an error that is raised in the block, and continues after it.
    """

    def __init__(self) -> None:
        self._errors: list[ConfigProvidersError] = []

    def __bool__(self) -> bool:
        return bool(self._errors)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, ConfigProvidersError):
            return False
        self.add(error)
        return True

    def add(self, error: ConfigProvidersError) -> None:
        """Add an error, which can have several problems."""
        self._errors.append(error)

    def extend(self, errors: Iterable[ConfigProvidersError]) -> None:
        """Add several errors."""
        self._errors.extend(errors)

    def together(self, *more: str) -> ConfigProvidersError:
        """Return one error with all problems; ``more`` are sentences to append."""
        problems = dict.fromkeys(problem for error in self._errors for problem in error.problems)
        kinds = {type(error) for error in self._errors}
        kind = kinds.pop() if len(kinds) == 1 else gravest(self._errors, _KINDS)
        return kind(*problems, *more)
