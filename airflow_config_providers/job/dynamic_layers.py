"""The dynamic configuration of the task that runs a job, as layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from airflow_config_providers import settings
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.cached import cached_property
from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError
from airflow_config_providers.foreign import has_supervisor

if TYPE_CHECKING:
    from airflow_config_providers.dynamic.document import Sealed
    from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
    from airflow_config_providers.dynamic.snapshot import ChangeMark


def dynamic_layers(task: ConfigResource) -> Sequence[ConfigLayer]:
    """
    Return the layers of a task that is about to run, with one or two requests.

    Their secrets are decrypted only when the job gets them.

    A plain Python process, such as a unit test of a DAG, reads nothing.

    :raises ProviderUnavailableError: the layers cannot be read now
    :raises AccessDeniedError: a secrets backend of the worker refuses
    :raises ConfigException: stored configuration is unreadable
    """
    if not settings.dynamic_enabled() or not has_supervisor():
        return ()
    return _read(task, Opener())


def refresh_mark(task: ConfigResource) -> ChangeMark:
    """
    Return the mark of a running task, with the requests and errors of ``dynamic_layers``.

    It differs as soon as someone changes the dynamic configuration of the task, or asks for its references to be
    resolved again (``airflow config-providers refresh``).
    """
    from airflow_config_providers.dynamic.snapshot import ChangeMark, task_mark  # noqa: PLC0415 - only to reload
    from airflow_config_providers.providers import airflow_secrets  # noqa: PLC0415 - as above

    if not settings.dynamic_enabled() or not has_supervisor():
        return ChangeMark((), ())
    return task_mark(task, airflow_secrets.variable)


def previewed_layers(task: ConfigResource, *, warn: Callable[[str], None]) -> Sequence[ConfigLayer]:
    """Return the layers of a previewed task, without decrypting secrets. Warn about layers that cannot be read."""
    if not settings.dynamic_enabled():
        return ()
    try:
        return _read(task)
    except ConfigProvidersError as error:
        problems = error.problems
    for problem in problems:
        warn(f"Dynamic configuration is not shown: {problem}")
    return ()


def _read(task: ConfigResource, opener: Opener | None = None) -> Sequence[ConfigLayer]:
    from airflow_config_providers.dynamic.inheritance import hidden, task_layers  # noqa: PLC0415 - a deployment can turn it off
    from airflow_config_providers.providers import airflow_secrets  # noqa: PLC0415 - as above

    return task_layers(task.dag_id, task.task_id, airflow_secrets.variable, opener or hidden)


class Opener:
    """Decrypts the sealed secrets of one run, and derives their key only once."""

    def __call__(self, sealed: Sealed) -> str:
        """
        Return the plain text of a secret.

        :raises ConfigException: this process cannot decrypt it
        """
        return self._encoder.decode(sealed.text).value

    @cached_property
    def _encoder(self) -> PasswordEncoder:
        encoder = settings.password_encoder()
        if encoder is None:
            raise ConfigException(
                "this secret is encrypted, but this process cannot decrypt it. Set password_encoder_secret in "
                "[config_providers] for workers too, and restart what runs tasks."
            )
        return encoder
