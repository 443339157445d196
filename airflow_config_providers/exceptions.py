"""
The errors of this package.

::

    ConfigProvidersError
    ├── ConfigException                the configuration is wrong: correct it where the message says
    │   ├── ReservedKeyError           a layer sets what belongs to the deployment alone
    │   ├── UnresolvedReferenceError   references that no provider answered (missing)
    │   ├── ExposedValueError          a value would stand where other people can read it
    │   ├── UndeliverableValueError    a value that would not arrive in Spark as it is
    │   ├── LimitExceededError         more references, paths or bytes than allowed
    │   ├── UnknownResourceError       there is no such DAG or task
    │   ├── StaleVersionError          a change for a version that is not the newest
    │   └── MalformedRequestError      a request to the server that cannot be understood
    ├── ProviderDefinitionError        a provider cannot be made from its definition
    ├── ProviderLookupError            a provider was asked and gave no answer
    │   ├── AccessDeniedError          it refused; never fall through to another source
    │   └── ProviderUnavailableError   it could not; trying again may help
    ├── ForbiddenError                 a server does not let its user do that
    ├── SubmitError                    spark-submit cannot be started
    ├── UnsupportedVersionError        a package that this one leans on is too new or too old
    └── PolicyViolation                a policy refused a change

An error says where, what, and the way out. None holds a resolved value: not in its message, its
``args``, its cause or its context.
"""

from __future__ import annotations

from typing import Self


class ConfigProvidersError(Exception):
    """
    Base of every error of this package.

    :param problems: one sentence each; all that was found wrong, not only the first
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems: tuple[str, ...] = problems

    def again(self) -> Self:
        """Return an equal error: two threads that raise the same one would mix up its tracebacks."""
        return type(self)(*self.problems)

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return self.problems[0]
        return "\n".join([f"{len(self.problems)} problems:", *(f"- {problem}" for problem in self.problems)])


class ConfigException(ConfigProvidersError):  # noqa: N818 - Kafka's name
    """The configuration cannot be used as it is."""


class ReservedKeyError(ConfigException):
    """A layer sets a key that belongs to the deployment."""


class UnresolvedReferenceError(ConfigException):
    """References that no provider answered: the provider is unknown or the key is missing."""


class ExposedValueError(ConfigException):
    """A resolved value would stand where other people can read it."""


class UndeliverableValueError(ConfigException):
    """A value would be changed on its way into Spark, so it is not sent."""


class LimitExceededError(ConfigException):
    """More references, paths or bytes than the limits allow."""


class UnknownResourceError(ConfigException):
    """There is no such DAG or task."""


class StaleVersionError(ConfigException):
    """A change is meant for a version that is not the newest."""


class MalformedRequestError(ConfigException):
    """A request to the server cannot be understood."""


class ProviderDefinitionError(ConfigProvidersError):
    """A provider cannot be made from its definition."""


class ProviderLookupError(ConfigProvidersError):
    """A provider was asked and gave no answer."""


class AccessDeniedError(ProviderLookupError):
    """A provider refused to answer; no other source may answer in its place."""


class ProviderUnavailableError(ProviderLookupError):
    """
    A provider could not answer now; trying again may help.

    :param retry_after: seconds before which the provider wants no further request; None where it does not say
    """

    def __init__(self, *problems: str, retry_after: float | None = None) -> None:
        super().__init__(*problems)
        self.retry_after = retry_after

    def again(self) -> Self:
        """Return an equal error."""
        return type(self)(*self.problems, retry_after=self.retry_after)


class ForbiddenError(ConfigProvidersError):
    """A server does not know the user, or does not let them do what they asked for."""


class SubmitError(ConfigProvidersError):
    """A task cannot submit its job: spark-submit cannot be started here, or the job to follow is forgotten."""


class UnsupportedVersionError(ConfigProvidersError):
    """An installed version of another package lacks something that this package leans on."""


class PolicyViolation(ConfigProvidersError):  # noqa: N818 - Kafka's name
    """A policy refused a change of configuration."""
