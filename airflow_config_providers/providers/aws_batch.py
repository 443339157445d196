"""Reads Airflow's backends of AWS with fewer requests than one for each secret."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self, TypeVar

from airflow_config_providers.core.concurrency.workers import side_by_side
from airflow_config_providers.core.document import as_text
from airflow_config_providers.core.text import counted, printable
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.providers.airflow_secrets import asked
from airflow_config_providers.providers.backend_faults import AWS_BUSY, AWS_SIGNED_OUT, error_of, error_of_aws_code

_K = TypeVar("_K")

AwsLookup = Callable[[Any], Any]
"""Asks a backend for one thing."""

TextOrError = str | None | ConfigProvidersError
"""A secret's string; None if there is no such secret; or the error that says why it is not known."""

_AT_ONCE: Final = 8
"""How many requests run at the same time."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AwsStore:
    """
    A store of AWS that Airflow has a backend for.

    :param method: the method of Airflow's class that asks for one id, its last argument, in every lookup
    :param page: how many ids one request takes
    :param read_one: reads one secret: given the client and an ID, returns its string
    :param read_many: client, ids -> id -> string, or the code of an error; an id that is left out is asked for alone
    """

    method: str
    page: int
    read_one: Callable[[Any, str], str]
    read_many: Callable[[Any, Sequence[str]], Mapping[str, str | AwsRefusal]]


@dataclass(frozen=True, slots=True)
class AwsRefusal:
    """The error code that AWS returned for one of several secrets."""

    code: str


class AwsBatch:
    """
    Reads from a secrets backend of AWS.

    The backend itself says which ids it would ask for, so that its prefixes, separators and patterns apply: each
    lookup runs once to name them, and once more with the answers at hand.
    """

    def __init__(self, backend: Any, store: AwsStore) -> None:
        self._backend = backend
        self._store = store
        self._who = f"Secrets backend {type(backend).__name__}"

    @classmethod
    def of(cls, backend: Any) -> Self | None:
        """Return a reader of ``backend``; None if it is not one of AWS, or asks in its own way."""
        kind = type(backend)
        for airflows in kind.__mro__:
            store = STORES.get(f"{airflows.__module__}.{airflows.__qualname__}")
            asks = vars(airflows).get(store.method) if store else None  # a subclass can ask in its own way
            if store and asks is not None and getattr(kind, store.method) is asks:
                return cls(backend, store)
        return None

    def read(self, lookups: Mapping[_K, AwsLookup]) -> dict[_K, Any]:
        """
        Return the result of each lookup, or the error that it raises.

        :param lookups: each asks a backend for one thing; its key names that in messages
        """
        ids: list[str] = []
        for lookup in lookups.values():
            self._outcome(lookup, self._acting(ids.append), "")
        texts = self._fetch(list(dict.fromkeys(ids)))
        actor = self._acting(lambda id_: self._text_of(texts, id_))
        return {key: self._outcome(lookup, actor, str(key)) for key, lookup in lookups.items()}

    def _outcome(self, lookup: AwsLookup, actor: Any, what: str) -> Any:
        try:
            return asked(lambda: lookup(actor), who=self._who, what=what)
        except ConfigProvidersError as error:
            return error

    def _acting(self, answer: Callable[[str], str | None]) -> Any:
        """Return a copy of the backend that asks ``answer`` in place of AWS."""
        actor = copy.copy(self._backend)
        setattr(actor, self._store.method, lambda *args, **kwargs: answer((*args, *kwargs.values())[-1]))
        return actor

    def _text_of(self, texts: dict[str, TextOrError], id_: str) -> str | None:
        if id_ not in texts:  # the lookup asks for it only now that it has another answer
            texts[id_] = self._fetch_one(id_)
        text = texts[id_]
        if isinstance(text, Exception):
            raise text
        return text

    def _fetch(self, ids: Sequence[str]) -> dict[str, TextOrError]:
        pages = [ids[start : start + self._store.page] for start in range(0, len(ids), self._store.page)]
        found: dict[str, TextOrError] = {}
        together = [page for page in pages if len(page) > 1]
        for answers in side_by_side(self._fetch_together, together, at_once=_AT_ONCE):
            found |= answers
        alone = [id_ for id_ in ids if id_ not in found]
        return found | dict(zip(alone, side_by_side(self._fetch_one, alone, at_once=_AT_ONCE), strict=True))

    def _fetch_together(self, ids: Sequence[str]) -> dict[str, TextOrError]:
        """Return the answers to one request for ``ids``; none if AWS refuses all because of one."""
        try:
            answers = self._store.read_many(_client(self._backend), ids)
        except Exception as error:  # noqa: BLE001 - botocore raises what a server, a proxy or a file made it raise
            if _may_concern_one_secret(error):
                return {}
            return dict.fromkeys(ids, error_of(error, who=self._who, what=counted(len(ids), "secret")))
        return {
            id_: answer if isinstance(answer, str) else error_of_aws_code(answer.code, who=self._who, what=_secret(id_))
            for id_, answer in answers.items()
        }

    def _fetch_one(self, id_: str) -> TextOrError:
        try:
            return self._store.read_one(_client(self._backend), id_)
        except Exception as error:  # noqa: BLE001 - as above
            return error_of(error, who=self._who, what=_secret(id_))


def _client(backend: Any) -> Any:
    """
    Return the backend's client, created without a lock.

    In Python 3.11, ``functools`` has one lock for all backends, and a forked child can find it held forever.
    """
    kind = getattr(type(backend), "client", None)
    if isinstance(kind, cached_property) and "client" not in vars(backend):
        vars(backend).setdefault("client", kind.func(backend))
    return backend.client


def _read_secret(client: Any, id_: str) -> str:
    return _secret_text(id_, client.get_secret_value(SecretId=id_))


def _read_secrets(client: Any, ids: Sequence[str]) -> dict[str, str | AwsRefusal]:
    """Return answers of Secrets Manager; ids are left out if the answer is too large for one response."""
    response = client.batch_get_secret_value(SecretIdList=list(ids))
    found: dict[str, str | AwsRefusal] = {
        error["SecretId"]: AwsRefusal(error["ErrorCode"]) for error in response.get("Errors", ())
    }
    for secret in response.get("SecretValues", ()):
        found |= {id_: _secret_text(id_, secret) for id_ in (secret["Name"], secret["ARN"]) if id_ in ids}
    return found


def _secret_text(id_: str, secret: Mapping[str, Any]) -> str:
    if "SecretString" in secret:
        return str(secret["SecretString"])
    _log.info("S%s is binary: its value is returned as base64.", _secret(id_)[1:])
    return as_text(secret["SecretBinary"])


def _read_parameter(client: Any, id_: str) -> str:
    return str(client.get_parameter(Name=id_, WithDecryption=True)["Parameter"]["Value"])


def _read_parameters(client: Any, ids: Sequence[str]) -> dict[str, str | AwsRefusal]:
    response = client.get_parameters(Names=list(ids), WithDecryption=True)
    missing = response.get("InvalidParameters", ())
    found: dict[str, str | AwsRefusal] = {id_: AwsRefusal("ParameterNotFound") for id_ in missing}
    for parameter in response.get("Parameters", ()):
        names = (parameter["Name"] + parameter.get("Selector", ""), parameter["ARN"])
        found |= {id_: str(parameter["Value"]) for id_ in names if id_ in ids}
    return found


STORES: Final[Mapping[str, AwsStore]] = {
    "airflow.providers.amazon.aws.secrets.secrets_manager.SecretsManagerBackend": AwsStore(
        "_get_secret_value", 20, _read_secret, _read_secrets
    ),
    "airflow.providers.amazon.aws.secrets.systems_manager.SystemsManagerParameterStoreBackend": AwsStore(
        "_get_parameter_value", 10, _read_parameter, _read_parameters
    ),
}
"""Airflow's classes by dotted name: their package might not be installed."""


def _may_concern_one_secret(error: Exception) -> bool:
    """Return whether AWS refused a whole request, as it does for one wrong or denied name, or for the method."""
    response = getattr(error, "response", None)
    if not isinstance(response, dict):
        return False
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    return status < 500 and response.get("Error", {}).get("Code") not in AWS_BUSY | AWS_SIGNED_OUT


def _secret(id_: str) -> str:
    return f"secret '{printable(id_)}'"
