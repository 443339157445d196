"""Makes sure that a changed DAG file means the same, by importing it before and after."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from airflow_config_providers.adoption.file_proposal import FileProposal, MeaningDifference, Replacement
from airflow_config_providers.adoption.shared_layers import SharedLayer
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.text import printable
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.job_layers import ReadFile, deployed_layers, file_as_deployed
from airflow_config_providers.lint.dag_files import DagFile, DagImports, read_all
from airflow_config_providers.spark.catalogue import spark_definition

_IGNORED = shutil.ignore_patterns(".git", "__pycache__", "*.pyc")


@dataclass(frozen=True, slots=True)
class Meaning:
    """
    What a job means: its settled configuration, and the references outside of it.

    :param configs: key -> string with references
    :param texts: name -> string with references
    :param authored: the keys that the DAG file sets itself
    :param unread: the layer files of the job that cannot be read here
    """

    configs: Mapping[str, str] = field(repr=False)
    texts: Mapping[str, str] = field(repr=False)
    authored: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Imports:
    """
    Imports DAG files as if this package configured every operator that it knows.

    :param root: the folder of the DAG files
    :param seconds: the longest time for one file
    :param tick: is called after each file
    """

    root: Path
    seconds: float
    tick: Callable[[], object]

    def before(self, paths: Sequence[str]) -> list[DagFile]:
        """Return what is in the files as they are."""
        return self._read(self.root, paths)

    def after(self, proposals: Sequence[FileProposal]) -> list[DagFile]:
        """Return what would be in the files with the edits; the files are changed in a copy of the folder."""
        with TemporaryDirectory(prefix="config-providers-adopt-") as temporary:
            copy = Path(temporary).resolve() / "dags"
            with suppress(shutil.Error):  # pipes, and files that vanish or cannot be read; a DAG that needs one fails
                shutil.copytree(self.root, copy, symlinks=True, ignore=_IGNORED)
            paths = [copy / Path(one.path).resolve().relative_to(self.root) for one in proposals]
            for path, one in zip(paths, proposals, strict=True):
                _write(path, one.after)
            read = self._read(copy, list(map(str, paths)))
        return [_as_deployed(one, copy, self.root) for one in read]

    def _read(self, folder: Path, paths: Sequence[str]) -> list[DagFile]:
        environ = {"AIRFLOW__CONFIG_PROVIDERS__APPLY_TO": "spark", "AIRFLOW__CORE__DAGS_FOLDER": str(folder)}
        source = DagImports([str(folder)], self.seconds, environ, is_stored=True)
        return list(read_all(paths, source=source, tick=self.tick)) if paths else []


def _write(path: Path, text: str) -> None:
    """Write a file of the copy, also if the original is read-only or has vanished."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    path.chmod(0o600)
    path.write_bytes(text.encode())


def differences(
    proposal: FileProposal, before: DagFile, after: DagFile, layers: Sequence[SharedLayer], folder: str
) -> list[MeaningDifference]:
    """
    Return what the changed file does not mean as before, apart from its references; nothing if it means the same.

    :param layers: the proposed layer files
    :param folder: the folder of the layer files, as the jobs see it
    """
    if after.findings:
        return [MeaningDifference(f"it cannot be imported: {after.findings[0].message}")]
    reader = _reader({f"{folder}/{layer.name}": layer.configs for layer in layers})
    of_deployment = [f"{folder}/{layer.name}" for layer in layers if layer.is_of_deployment]
    old = dict(_meanings(before, reader, ()))
    new = dict(_meanings(after, reader, of_deployment))
    if old.keys() != new.keys():
        return [MeaningDifference("it has other tasks")]
    found = [one for task in old for one in _task_differences(task[1], old[task], new[task], proposal.replacements)]
    return found or list(_missing(proposal.replacements, new))


def are_in_all(files: Iterable[DagFile]) -> Callable[[str, str], bool]:
    """Return what says whether every job in ``files`` has a key with a value; nothing is, if a file is not known."""
    known = list(files)
    meanings = [meaning for file in known for _, meaning in _meanings(file, _reader({}), ())]
    is_known = bool(meanings) and not any(file.findings for file in known)
    return lambda key, text: is_known and all(meaning.configs.get(key) == text for meaning in meanings)


def _task_differences(
    task: str, old: Meaning, new: Meaning, replacements: Iterable[Replacement]
) -> Iterator[MeaningDifference]:
    mine, shown = [one for one in replacements if _is_of(one, task)], printable(task)
    expected = {(one.key, one.text) for one in mine if one.is_conf}
    for key in sorted(old.configs.keys() | new.configs.keys()):
        before, after = old.configs.get(key), new.configs.get(key)
        if before != after and (before is None or (key, after) not in expected):
            yield MeaningDifference(f"'{printable(key)}' of task '{shown}' differs", task, key)
    for key in sorted(old.authored - new.authored) if new.unread else ():
        where = f"could come from '{printable(new.unread[0])}', which cannot be read here"
        yield MeaningDifference(f"'{printable(key)}' of task '{shown}' {where}", task, key)
    added = {text for name, text in new.texts.items() if old.texts.get(name) != text}
    if not old.texts.keys() <= new.texts.keys() or not added <= {one.text for one in mine if not one.is_conf}:
        yield MeaningDifference(f"the references of task '{shown}' differ")


def _missing(
    replacements: Iterable[Replacement], new: Mapping[tuple[str, str], Meaning]
) -> Iterator[MeaningDifference]:
    """Yield the references that arrive in no job."""
    for one in replacements:
        found = (meaning for (_, task), meaning in new.items() if _is_of(one, task))
        if not any(meaning.configs.get(one.key) == one.text or one.text in meaning.texts.values() for meaning in found):
            why = f"the reference for '{printable(one.key)}' arrives in no job"
            yield MeaningDifference(why, one.task_id or "", one.key)


def _is_of(replacement: Replacement, task_id: str) -> bool:
    """Return whether a replacement can be that of a task, which can be in groups."""
    return replacement.task_id is None or task_id == replacement.task_id or task_id.endswith(f".{replacement.task_id}")


def _meanings(file: DagFile, read_file: ReadFile, more: Sequence[str]) -> Iterator[tuple[tuple[str, str], Meaning]]:
    for stored in file.stored:
        job = AuthoredJob.read(stored.text)
        job = replace(job, files={**{path: path for path in more}, **job.files})
        yield (stored.dag_id, stored.task_id), _meaning(job, read_file)


def _meaning(job: AuthoredJob, read_file: ReadFile) -> Meaning:
    unread: list[str] = []

    def read(path: str, warn: Callable[[str], None]) -> ConfigLayer | None:
        layer = read_file(path, warn)
        if layer is None:
            unread.append(path)
        return layer

    layers = deployed_layers(job, {}, warn=_silent, read_file=read)
    settled = LayeredConfig(layers, spark_definition()).settled
    authored = frozenset(key for layer in job.layers for key in layer.configs)
    return Meaning(dict(settled), dict(job.texts), authored, tuple(unread))


def _silent(text: str) -> None:
    """Show no note; one function for all jobs, so that each file is read once."""


def _reader(proposed: Mapping[str, Mapping[str, str]]) -> ReadFile:
    @cache
    def read(path: str, warn: Callable[[str], None]) -> ConfigLayer | None:
        if path in proposed:
            return ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, path, proposed[path])
        return file_as_deployed(path, warn)

    return read


def _as_deployed(file: DagFile, copy: Path, root: Path) -> DagFile:
    """Return a file in which paths that it makes of its own are those of the folder, and not of the copy."""
    inside, outside = (json.dumps(str(one))[1:-1] for one in (copy, root))
    stored = tuple(replace(one, text=one.text.replace(inside, outside)) for one in file.stored)
    return replace(file, stored=stored)
