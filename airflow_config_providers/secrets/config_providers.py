"""A secrets backend for Airflow that reads connections and variables from files with references in them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from airflow.secrets import BaseSecretsBackend

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ConfigProvidersError,
    ProviderDefinitionError,
    UnresolvedReferenceError,
)
from airflow_config_providers.secrets import definitions, trail
from airflow_config_providers.secrets.connections import connection_shape, team_of
from airflow_config_providers.secrets.entry_files import EntryFiles, load_definitions, load_variables, paths
from airflow_config_providers.secrets.event_loop import off_the_loop
from airflow_config_providers.secrets.imports import importing
from airflow_config_providers.secrets.process_state import state
from airflow_config_providers.secrets.resolution import resolved
from airflow_config_providers.secrets.shapes import Shape, variable_shape

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_NO_FILES: Final = (
    "The backend has no files. Name one in its backend_kwargs, and see that they are a JSON object: Airflow leaves out "
    "what is none."
)

_SETTING: Final = "setting"

_DENIED: Final = "is denied"
_UNAVAILABLE: Final = "is unavailable"
_UNDEFINED: Final = "cannot be resolved"
_UNRESOLVED: Final = "cannot be resolved, and Airflow must not go on with its default for it"

_OUTCOMES: Final = {
    AccessDeniedError: _DENIED,
    ProviderDefinitionError: _UNDEFINED,
    ConfigProvidersError: _UNAVAILABLE,
}
"""The more special before the more general."""


@dataclass(frozen=True, slots=True)
class _Question:
    kind: str
    name: str
    team: str | None = None

    def __str__(self) -> str:
        team = f" of team {printable(self.team)}" if self.team else ""
        return f"{self.kind} {printable(self.name)}{team}"


class ConfigProvidersBackend(BaseSecretsBackend):
    """
    Gives connections, variables and settings of Airflow from files, with the references in them resolved.

    The files are YAML, JSON or ``.env``, as Airflow's ``LocalFilesystemBackend`` reads them. A file is read when
    something is asked for, and again when it has changed; only the references of what is asked for are resolved. A path
    may be a list of paths, and hold ``{team_name}``. At most one of the last three parameters is given.

    A name that is in no file, or a reference whose key is missing, gives None, and Airflow asks its next backend. Where
    a provider refuses or cannot be asked, or a file or a definition is wrong, Airflow must not do that: an
    ``AirflowSecretsBackendAccessDenied`` is raised. So it is where a setting holds a reference whose key is missing:
    Airflow would use its default. Safe to use from several threads.

    :param connections_file_path: files of connections
    :param variables_file_path: files of variables
    :param configs_file_path: files of settings, for options such as ``sql_alchemy_conn_secret``
    :param providers_file: a file of Java properties that defines the providers, ``config.providers`` and what is below
    :param providers: the same as a mapping or as a JSON object
    :param conn_id: a connection of type ``config_providers`` that defines them; asked for through Airflow
    :raises ConfigException: a parameter cannot be used
    """

    def __init__(  # noqa: PLR0913 - Airflow passes the settings by their names
        self,
        connections_file_path: str | Sequence[str] | None = None,
        variables_file_path: str | Sequence[str] | None = None,
        configs_file_path: str | Sequence[str] | None = None,
        *,
        providers_file: str | None = None,
        providers: Mapping[str, Any] | str | None = None,
        conn_id: str | None = None,
    ) -> None:
        super().__init__()
        self._definitions = definitions.chosen(providers_file, providers, conn_id)
        self._files = {
            "connection": EntryFiles(paths(connections_file_path), load_definitions, team_of),
            "variable": EntryFiles(paths(variables_file_path), load_variables),
            _SETTING: EntryFiles(paths(configs_file_path), load_definitions),
        }

    def get_connection(self, conn_id: str, team_name: str | None = None) -> Any:
        """
        Give the connection, of the class that Airflow has set; None where there is none.

        :raises AirflowSecretsBackendAccessDenied: a provider refused, or something is wrong
        """
        question = _Question("connection", conn_id, team_name)
        text = self._answer(question, lambda found: connection_shape(conn_id, found))
        if text is None:
            return None
        return _stopping(question, lambda: self.deserialize_connection(conn_id=conn_id, value=text))

    def get_conn_value(self, conn_id: str, team_name: str | None = None) -> str | None:
        """Give the connection as JSON, as ``get_connection`` gives it."""
        question = _Question("connection", conn_id, team_name)
        return self._answer(question, lambda found: connection_shape(conn_id, found))

    def get_variable(self, key: str, team_name: str | None = None) -> str | None:
        """
        Give the text of a variable; None where there is none.

        :raises AirflowSecretsBackendAccessDenied: a provider refused, or something is wrong
        """
        return self._answer(_Question("variable", key, team_name), variable_shape)

    def get_config(self, key: str) -> str | None:
        """
        Give the value of a setting; None where it is in no file.

        :raises AirflowSecretsBackendAccessDenied: a provider refused or has no such key, or something is wrong
        """
        return self._answer(_Question(_SETTING, key), variable_shape)

    def _answer(self, question: _Question, shape: Callable[[Any], Shape]) -> str | None:
        return _stopping(question, lambda: off_the_loop(lambda: self._asked(question, shape)))

    def _asked(self, question: _Question, shape: Callable[[Any], Shape]) -> str | None:
        identity = (question, self._definitions, self._files[question.kind])
        with trail.step(str(question), identity=identity):
            if trail.is_nested():  # who is answering somebody must not wait for another's answer
                return self._resolved(question, shape)
            return state().questions.run(identity, lambda: self._resolved(question, shape))

    def _resolved(self, question: _Question, shape: Callable[[Any], Shape]) -> str | None:
        if not any(files.paths for files in self._files.values()):
            raise ConfigException(_NO_FILES)
        here = state()
        definition = self._files[question.kind].find(question.name, question.team, files=here.files)
        if definition is None:
            return None
        form = shape(definition)
        content = resolved(form.content, str(question), definitions=self._definitions, state=here)
        return form.written(content)


def _stopping(question: _Question, answer: Callable[[], _T]) -> _T | None:
    """Give the answer, None where it is missing; where there is trouble, keep Airflow from asking anybody else."""
    try:
        return answer()
    except UnresolvedReferenceError as error:
        if question.kind != _SETTING:
            _warn(f"{' '.join(error.problems)} Airflow asks its next secrets backend for {question}.")
            return None
        outcome, reason = _UNRESOLVED, " ".join(error.problems)
    except ConfigProvidersError as error:
        outcome = next(outcome for kind, outcome in _OUTCOMES.items() if isinstance(error, kind))
        reason = " ".join(error.problems)
    except Exception as error:  # noqa: BLE001 - Airflow would ask the next backend; the text may hold a value
        outcome, reason = _UNAVAILABLE, f"{type(error).__name__} was raised, whose text may hold a value."
    stop = _refusal(outcome, f"{question} {outcome}. {reason}")
    _log.error("%s", stop)
    raise stop


def _warn(text: str) -> None:
    """Warn also where nothing is logged: most commands of Airflow switch that off, and then say "not found"."""
    if _log.manager.disable >= logging.WARNING:
        print(text, file=sys.stderr)  # noqa: T201 - the terminal of who wants to know why
    else:
        _log.warning("%s", text)


def _refusal(outcome: str, text: str) -> Exception:
    with importing():
        from airflow_config_providers.secrets import refusal  # noqa: PLC0415 - Airflow may be reading its configuration

    kinds = {_DENIED: refusal.SecretDeniedError, _UNRESOLVED: refusal.SecretUnresolvedError}
    return refusal.refusal(kinds.get(outcome, refusal.SecretUnavailableError), text)
