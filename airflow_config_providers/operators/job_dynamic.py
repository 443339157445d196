"""The dynamic configuration of one run of a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from airflow_config_providers import settings
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.cached import cached_property
from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.dynamic.document import Sealed
from airflow_config_providers.dynamic.task import task_layers
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.task_process import has_supervisor

if TYPE_CHECKING:
    from airflow_config_providers.dynamic.password_encoder import PasswordEncoder


def layers(task: ConfigResource) -> Sequence[ConfigLayer]:
    """
    Read the layers of a task that is about to run, by one request or two.

    Their secrets are opened when the job gets them.

    A plain Python process, such as a unit test of a DAG, reads nothing.

    :raises ProviderUnavailableError: they cannot be read now
    :raises AccessDeniedError: a secrets backend of the worker refuses
    :raises ConfigException: what is stored cannot be read
    """
    if not settings.dynamic_enabled() or not has_supervisor():
        return ()
    return task_layers(task.dag_id, task.task_id, airflow_secrets.variable, Opener())


def previewed(task: ConfigResource, *, warn: Callable[[str], None]) -> Sequence[ConfigLayer]:
    """Read the layers of a task that is only looked at; opens no secret, and does without what cannot be read."""
    if not settings.dynamic_enabled():
        return ()
    try:
        return task_layers(task.dag_id, task.task_id, airflow_secrets.variable)
    except ConfigProvidersError as error:
        problems = error.problems
    for problem in problems:
        warn(f"Dynamic configuration is left out: {problem}")
    return ()


class Opener:
    """Opens the sealed secrets of one run; derives their key once."""

    def __call__(self, sealed: Sealed) -> str:
        """
        Give the text of a secret.

        :raises ConfigException: this process cannot decrypt it
        """
        return self._encoder.decode(sealed.text).value

    @cached_property
    def _encoder(self) -> PasswordEncoder:
        encoder = settings.password_encoder()
        if encoder is None:
            raise ConfigException(
                "this secret is encrypted, and this process cannot decrypt it. Set password_encoder_secret in "
                "[config_providers] for workers too."
            )
        return encoder
