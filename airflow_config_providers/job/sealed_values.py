"""Values of a job: hashed with a key for its records, or sealed for a later process of its task."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from airflow_config_providers import settings
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.core.text import octets
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airflow_config_providers.dynamic.password_encoder import PasswordEncoder


_PURPOSE: Final = ("airflow_config_providers", "hashes of values in records")

_OCTETS: Final = 16

_NO_KEY: Final = (
    "There are no hashes of values, because [config_providers] password_encoder_secret was not set where the task ran. "
    "A later change of a value is therefore not seen."
)


def deployment_key(secret: str, *purpose: str) -> bytes:
    """
    Return a key of 32 bytes for one purpose.

    :param secret: ``password_encoder_secret``
    :raises ConfigException: the secret could be guessed
    """
    settings.require_strong(secret)
    return _keyed_digest(octets(secret), *purpose)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ValueHashes:
    """
    Hashes values with a key that is derived from ``password_encoder_secret``.

    The hash includes the reference, so it does not reveal that two references have the same value.

    :param reason: why there are no hashes; empty if there are
    """

    reason: str = ""
    _key: bytes = field(default=b"", repr=False)

    @classmethod
    def of_deployment(cls) -> Self:
        """
        Return the hashes of this deployment.

        There are none with a secret that could be guessed, since they would reveal values, or that cannot be read.
        """
        try:
            if not (secret := settings.password_encoder_secret()):
                return cls(_NO_KEY)
            return cls(_key=deployment_key(secret, *_PURPOSE))
        except ConfigException as error:
            return cls(f"There are no hashes of values. {' '.join(error.problems)}")

    @property
    def key_id(self) -> str:
        """A name of the key: only hashes of the same key can be compared. Empty if there are no hashes."""
        return _keyed_digest(self._key, "name of the key").hex()[:16] if self._key else ""

    def of(self, reverser: ReverseTransformer, unversioned: Callable[[str], str] = str) -> Mapping[str, str | None]:
        """
        Return reference -> hash of its current value, for the values that ``reverser`` knows.

        :param unversioned: returns a path as it is in each version of the DAG bundle, in which the hash is the same
        """
        known = sorted(reverser.current.items())
        return {str(one): self._hash(one, unversioned(one.path), value) for one, value in known}

    def _hash(self, variable: ConfigVariable, path: str, value: str) -> str | None:
        if not self._key:
            return None
        return _keyed_digest(self._key, variable.provider, path, variable.key, value)[:_OCTETS].hex()


def _keyed_digest(key: bytes, *parts: str) -> bytes:
    """Return 32 bytes that depend on ``key`` and on all of ``parts``, also on where one ends (HMAC with SHA-256)."""
    return hmac.digest(key, json.dumps(parts).encode(), "sha256")


_VERSION: Final = 1
"""The version of the format of what is sealed."""

_LONGEST: Final = 32 * 1024
"""The most characters of a sealed string in Airflow's database: half of the limit of an entry of task state."""

_OF_TASK: Final = ("dag_id", "task_id", "run_id", "map_index")


@dataclass(frozen=True, slots=True)
class ValueSeal:
    """
    Seals the values of a job, so that only a later process of its task can open them.

    The key is derived from ``password_encoder_secret`` and ``owner``. Therefore a sealed string cannot be moved to
    another task or be used as a secret of the dynamic configuration, and none of these can be used as a sealed string.
    It is encrypted with AES in mode GCM, which detects changes, whatever the other settings of the encoder are.

    :param owner: what the values belong to
    :param log: the log of the task, for a warning when values cannot be sealed or opened, which never fails the task
    """

    owner: tuple[str, ...]
    log: Any = field(repr=False)

    @classmethod
    def of_task(cls, ti: Any, *use: object, log: Any) -> Self:
        """Return the seal for one ``use`` in the task instance ``ti``."""
        from airflow_config_providers.airflow_compat import iteration_of  # noqa: PLC0415 - imports Airflow

        names = (getattr(ti, name, "") for name in _OF_TASK)
        return cls(tuple(map(str, (*names, *(iteration_of(ti) or ()), *use))), log)

    def seal(self, reverser: ReverseTransformer) -> str | None:
        """
        Return the values of ``reverser``, encrypted; None without values, or without ``password_encoder_secret``.

        If they are too many, the oldest ones are left out.
        """
        try:
            secret = settings.password_encoder_secret() if reverser else ""
            return self._sealed(secret, reverser) if secret else None
        except ConfigException as error:
            problem = " ".join(error.problems)
        except Exception as error:  # noqa: BLE001 - the job is more important, and the message can contain a value
            problem = type(error).__name__
        self.log.warning(
            "The values of this job are not kept for the next process of the task. If they change meanwhile, its log "
            "can show the old ones: %s",
            problem,
        )
        return None

    def _sealed(self, secret: str, reverser: ReverseTransformer) -> str:
        settings.require_strong(secret)
        encoder, pairs, fewest = self._encoder(secret), reverser.pairs, len(reverser.current)
        sealed = encoder.encode(Password(_written(pairs, reverser.hidden)))
        while len(sealed) > _LONGEST and len(pairs) > fewest:
            pairs = pairs[: max(fewest, len(pairs) * 3 // 4)]
            sealed = encoder.encode(Password(_written(pairs, reverser.hidden)))
        if len(sealed) > _LONGEST:
            raise ConfigException(f"Encrypted, they have more than {_LONGEST} characters.")
        return sealed

    def open(self, sealed: object) -> ReverseTransformer | None:
        """Return what replaces the values in ``sealed``, which others could have written; None if it is not ours."""
        try:
            secret = settings.password_encoder_secret()
            if secret and isinstance(sealed, str):
                return _read(self._encoder(secret).decode(sealed).value)
        except Exception:  # noqa: BLE001 - others can have written anything; the warning below shows none of it
            self.log.debug("Sealed values cannot be opened.")
        self.log.warning(
            "The values that this job had in an earlier process of the task cannot be read, because "
            "password_encoder_secret was changed or removed, or what Airflow has stored was changed. If the values "
            "have changed since, this log can show the old ones. Keep the previous secret in "
            "password_encoder_old_secret until such tasks have ended."
        )
        return None

    def _encoder(self, secret: str) -> PasswordEncoder:
        from airflow_config_providers.dynamic.password_encoder import PasswordEncoder  # noqa: PLC0415 - few need it

        old = settings.password_encoder_old_secret()
        return PasswordEncoder(self._derived(secret), old_secret=self._derived(old) if old else None)

    def _derived(self, secret: str) -> str:
        return _keyed_digest(octets(secret), "airflow_config_providers", "values of a job", *self.owner).hex()


def _written(pairs: Iterable[tuple[ConfigVariable, str]], hidden: Iterable[str]) -> str:
    found = [[one.provider, one.path, one.key, str(one), value] for one, value in pairs]
    return json.dumps({"version": _VERSION, "pairs": found, "hidden": sorted(hidden)})


def _read(text: str) -> ReverseTransformer:
    content = json.loads(text)
    if content["version"] != _VERSION:
        raise ValueError
    pairs = [(ConfigVariable(*variable), value) for *variable, value in content["pairs"]]
    return ReverseTransformer.of_pairs(pairs, hidden=content["hidden"])
