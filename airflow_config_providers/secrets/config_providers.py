"""A secrets backend for Airflow that reads connections and variables from files with references in them."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from typing import Any, Final, TypeVar

from airflow.secrets import BaseSecretsBackend

from airflow_config_providers.core.concurrency.workers import in_thread
from airflow_config_providers.core.diagnosis import Diagnosis, of_problem
from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ConfigProvidersError,
    ProviderDefinitionError,
    UnresolvedReferenceError,
    listed,
    refuse,
)
from airflow_config_providers.secrets import answering, definitions
from airflow_config_providers.secrets.answering import importing
from airflow_config_providers.secrets.entry_files import (
    EntryFiles,
    lines_of,
    load_definitions,
    load_variables,
    paths,
    place_of,
)
from airflow_config_providers.secrets.entry_shapes import (
    Shape,
    WrongEntryError,
    checked,
    connection_shape,
    team_of,
    variable_shape,
)
from airflow_config_providers.secrets.process_state import state
from airflow_config_providers.secrets.resolution import DefinedProviders, FileExamination, resolved

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_NO_FILES: Final = (
    "The backend has no files. Name one in backend_kwargs, and make sure that it is a JSON object: Airflow ignores "
    "anything else."
)

_SETTING: Final = "setting"

_UNRESOLVED: Final = "cannot be resolved, and Airflow must not use its default instead"

_OUTCOMES: Final = {
    UnresolvedReferenceError: (_UNRESOLVED, "SecretUnresolvedError"),
    AccessDeniedError: ("is denied", "SecretDeniedError"),
    ProviderDefinitionError: ("cannot be resolved", "SecretUnavailableError"),
    WrongEntryError: ("is defined wrongly", "SecretUnavailableError"),
    Exception: ("is unavailable", "SecretUnavailableError"),
}
"""Error -> what is said of it, and the class in ``refusal`` that Airflow gets."""


@dataclass(frozen=True, slots=True)
class _Question:
    kind: str
    name: str
    team: str | None = None

    def __str__(self) -> str:
        team = f" of team {printable(str(self.team))}" if self.team else ""
        return f"{self.kind} {printable(str(self.name))}{team}"  # Airflow's callers can name anything


class ConfigProvidersBackend(BaseSecretsBackend):
    """
    Reads connections, variables and settings of Airflow from files, and resolves the references in them.

    The files are YAML, JSON or ``.env``, as Airflow's ``LocalFilesystemBackend`` reads them. A file is read on the
    first request, and again after it changes; only the references of the requested entry are resolved. A path can be a
    list of paths, and can contain ``{team_name}``. Give at most one of the last three parameters.

    If a name is in no file, or a reference's key is missing, the result is None, and Airflow asks its next backend. If
    a provider refuses or is unavailable, or a file or a definition is wrong, Airflow must not do that, so this raises
    ``AirflowSecretsBackendAccessDenied``. It also does so if the key of a reference in a setting is missing, since
    Airflow would use its default. Safe to use from several threads.

    :param connections_file_path: files of connections
    :param variables_file_path: files of variables
    :param configs_file_path: files of settings, for options such as ``sql_alchemy_conn_secret``
    :param providers_file: a file of Java properties that defines the providers: ``config.providers`` and keys below it
    :param providers: the same definitions as a mapping or as a JSON object
    :param conn_id: a connection of type ``config_providers`` with the definitions; Airflow looks it up
    :param unknown: any other parameter, which is refused
    :raises ConfigException: a parameter is wrong, or unknown
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
        **unknown: Any,
    ) -> None:
        super().__init__()
        _refuse(unknown)
        self._definitions = definitions.chosen(providers_file, providers, conn_id)
        self._files = {
            "connection": EntryFiles(paths(connections_file_path), load_definitions, team_of),
            "variable": EntryFiles(paths(variables_file_path), load_variables),
            _SETTING: EntryFiles(paths(configs_file_path), load_definitions),
        }

    @clearing_frames
    def get_connection(self, conn_id: str, team_name: str | None = None) -> Any:
        """
        Return the connection, as an instance of the class that Airflow has set; None if there is none.

        :raises AirflowSecretsBackendAccessDenied: a provider refused or is unavailable, or a definition is wrong
        """
        text = self.get_conn_value(conn_id, team_name)
        if text is None:
            return None
        question = _Question("connection", conn_id, team_name)
        return self._stopping(question, lambda: self.deserialize_connection(conn_id=conn_id, value=text))

    @clearing_frames
    def get_conn_value(self, conn_id: str, team_name: str | None = None) -> str | None:
        """Return the connection as JSON, with the same errors as ``get_connection``."""
        question = _Question("connection", conn_id, team_name)
        return self._answer(question, lambda found: connection_shape(conn_id, found))

    @clearing_frames
    def get_variable(self, key: str, team_name: str | None = None) -> str | None:
        """
        Return the text of a variable; None if there is none.

        :raises AirflowSecretsBackendAccessDenied: a provider refused or is unavailable, or a definition is wrong
        """
        return self._answer(_Question("variable", key, team_name), variable_shape)

    @clearing_frames
    def get_config(self, key: str) -> str | None:
        """
        Return the value of a setting; None if it is in no file.

        :raises AirflowSecretsBackendAccessDenied: as for variables, and also if a reference has no value
        """
        return self._answer(_Question(_SETTING, key), variable_shape)

    def _answer(self, question: _Question, shape: Callable[[Any], Shape]) -> str | None:
        return self._stopping(question, lambda: off_the_loop(lambda: self._asked(question, shape)))

    def _asked(self, question: _Question, shape: Callable[[Any], Shape]) -> str | None:
        identity = (question, self._definitions, self._files[question.kind])
        with answering.step(str(question), identity=identity):
            if answering.is_nested():  # an answer for another answer must not wait for other threads
                return self._resolved(question, shape)
            return state().questions.run(identity, lambda: self._resolved(question, shape))

    def _resolved(self, question: _Question, shape: Callable[[Any], Shape]) -> str | None:
        if not any(files.paths for files in self._files.values()):
            raise ConfigException(_NO_FILES)
        here = state()
        entry = self._files[question.kind].find(question.name, question.team, files=here.files)
        if entry is None:
            return None
        form = checked(lambda: shape(entry.definition))
        content = resolved(form.content, str(question), definitions=self._definitions, state=here)
        return checked(lambda: form.written(content))

    def _stopping(self, question: _Question, answer: Callable[[], _T]) -> _T | None:
        """Return the answer; None if it is missing. On other errors, keep Airflow from asking another backend."""
        try:
            return answer()
        except Exception as error:  # noqa: BLE001 - Airflow would ask the next backend
            outcome, name = next(found for kind, found in _OUTCOMES.items() if isinstance(error, kind))
            reason = f"{_reason(error)}{self._place(question)}"
        if outcome == _UNRESOLVED and question.kind != _SETTING:
            _warn(f"{reason} Airflow asks its next secrets backend for {question}.")
            return None
        stop = _refusal(name, f"{question} {outcome}. {reason}")
        with suppress(Exception):  # of a handler or a filter
            _log.error("%s", stop)
        raise stop

    def _place(self, question: _Question) -> str:
        """Return a sentence that says where the entry is; an empty string if there is none, or it cannot be found."""
        with suppress(Exception):  # with another error than the refusal, Airflow would ask the next backend
            files = state().files
            entry = self._files[question.kind].find(question.name, question.team, files=files)
            if entry is not None:
                place = place_of(entry.file, question.name, files.read(entry.file, lines_of))
                return f" The {question.kind} is defined in {place}."
        return ""

    def diagnose(self) -> Iterator[Diagnosis]:
        """Yield what is right and wrong with the files, without resolving a reference."""
        if not any(files.paths for files in self._files.values()):
            yield of_problem(_NO_FILES)
        providers = DefinedProviders(self._definitions)
        for kind, files in self._files.items():
            shape = connection_shape if kind == "connection" else lambda name, definition: variable_shape(definition)
            yield from FileExamination(kind, files, shape, providers).diagnoses()
        yield from map(of_problem, providers.problems)


def _refuse(unknown: Iterable[str]) -> None:
    known = signature(ConfigProvidersBackend).parameters.keys() - {"unknown"}
    problems = [
        f"ConfigProvidersBackend has no parameter '{printable(name)}'{nearest(name, known) or '.'} Correct its name in "
        f"[secrets] backend_kwargs or [workers] secrets_backend_kwargs, or remove it."
        for name in unknown
    ]
    refuse(ConfigException, problems)


def off_the_loop(call: Callable[[], _T]) -> _T:
    """
    Return the result of a blocking call, made in another thread if this one runs an event loop that allows it.

    In a triggerer, requests of other threads to Airflow go through that loop: they would wait for this thread, and this
    thread for them. Airflow prepares its loop with ``greenback``; without that, the call is made in this thread.
    """
    greenback = sys.modules.get("greenback")
    if greenback is None or not _runs_a_loop() or not greenback.has_portal():
        return call()
    result: _T = greenback.await_(asyncio.wrap_future(in_thread(call)))
    return result


def _runs_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _reason(error: Exception) -> str:
    """Return what is said of an error; of those of others only the kind, because their texts can hold a value."""
    if isinstance(error, ConfigProvidersError):
        with suppress(Exception):  # a provider's class for it can have no problems, or some that are no strings
            return " ".join(listed(error.problems))
    return f"It failed with {type(error).__name__}, whose text is not shown."


def _warn(text: str) -> None:
    """Log a warning, or print it if logging is off, as in most commands of Airflow, which then say "not found"."""
    if _log.manager.disable >= logging.WARNING:
        print(text, file=sys.stderr)  # noqa: T201 - for the user at the terminal
    else:
        _log.warning("%s", text)


def _refusal(name: str, text: str) -> Exception:
    with importing():
        from airflow_config_providers.secrets import refusal  # noqa: PLC0415 - Airflow might be reading its configuration

    return refusal.refusal(getattr(refusal, name), text)
