"""Proposals that are proved: each changed file is imported, and what would mean something else is left as it is."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from airflow_config_providers.adoption.dag_source import CONFIGURATION, NO_PYTHON, OperatorCall, Setting
from airflow_config_providers.adoption.file_proposal import (
    PUT_TOGETHER,
    ByHand,
    FileProposal,
    FileProposer,
    MeaningDifference,
    ProposalRules,
    Replacement,
)
from airflow_config_providers.adoption.references import reads_secrets
from airflow_config_providers.adoption.shared_layers import SharedLayer, Sharing
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.admin import no_notes
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.job_layers import ReadFile, deployed_layers, file_as_deployed
from airflow_config_providers.lint.dag_files import DagFile, DagImports, read_all
from airflow_config_providers.lint.dag_process import AirflowProcess
from airflow_config_providers.lint.paths import lead_as_before
from airflow_config_providers.spark.catalogue import spark_definition

ENVIRONMENT: Final = {"AIRFLOW__CONFIG_PROVIDERS__APPLY_TO": "spark"}
"""The environment variables of the process that imports the files."""

_IGNORED = shutil.ignore_patterns(".git", "__pycache__", "*.pyc")


@dataclass(frozen=True, slots=True)
class Meaning:
    """
    What a job means: its settled configuration, and the references outside of it.

    :param configs: key -> string with references
    :param texts: name -> string with references
    :param authored: the keys that the DAG file sets itself
    :param unread: the layer files of the job that cannot be read here
    :param is_known: whether it is known what the DAG file sets
    """

    configs: Mapping[str, str] = field(repr=False)
    texts: Mapping[str, str] = field(repr=False)
    authored: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()
    is_known: bool = True

    def differing(self, other: Meaning) -> set[str]:
        """Return the keys and the names of the texts that the other has otherwise."""
        pairs = ((self.configs, other.configs), (self.texts, other.texts))
        return {key for one, two in pairs for key in one.keys() | two.keys() if one.get(key) != two.get(key)}


@dataclass(frozen=True, slots=True)
class Imports:
    """
    Imports DAG files as if this package configured every operator that it knows.

    :param root: the folder of the DAG files
    :param seconds: the longest time for one file
    :param tick: is called after each file
    :param origin: the process whose copies import the files, with the environment of ``ENVIRONMENT``
    """

    root: Path
    seconds: float
    tick: Callable[[], object]
    origin: AirflowProcess

    def before(self, paths: Sequence[str]) -> list[DagFile]:
        """Return what is in the files as they are."""
        return self._read(self.root, paths)

    def after(self, proposals: Sequence[FileProposal]) -> list[DagFile]:
        """Return what would be in the files with the edits; the files are changed in a copy of the folder."""
        with TemporaryDirectory(prefix="config-providers-adopt-") as temporary:
            copy = Path(temporary).resolve() / "dags"
            with suppress(shutil.Error):  # pipes, and files that vanish or cannot be read; a DAG that needs one fails
                shutil.copytree(self.root, copy, symlinks=True, ignore=_IGNORED)
            lead_as_before(self.root, copy)
            paths = [copy / Path(one.path).resolve().relative_to(self.root) for one in proposals]
            for path, one in zip(paths, proposals, strict=True):
                _write(path, one.after)
            read = self._read(copy, list(map(str, paths)))
        return [one.moved(copy, self.root) for one in read]

    def _read(self, folder: Path, paths: Sequence[str]) -> list[DagFile]:
        source = DagImports([str(folder)], self.seconds, is_stored=True, dags_folder=str(folder))
        return list(read_all(paths, source=source, origin=self.origin, tick=self.tick)) if paths else []


def _write(path: Path, text: str) -> None:
    """Write a file of the copy, also if the original is read-only or has vanished."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    path.chmod(0o600)
    path.write_bytes(text.encode())


def differences(
    proposal: FileProposal, unchanged: Sequence[DagFile], after: DagFile, layers: Sequence[SharedLayer], folder: str
) -> list[MeaningDifference]:
    """
    Return what the changed file does not mean as before, apart from its references; nothing if it means the same.

    :param unchanged: the file as it was, imported once or twice; what the second import has otherwise is left out
    :param layers: the proposed layer files
    :param folder: the folder of the layer files, as the jobs see it
    """
    if after.findings:
        return [MeaningDifference(f"it cannot be imported: {after.findings[0].message.removesuffix('.')}")]
    reader = _reader({f"{folder}/{layer.name}": layer.configs for layer in layers})
    of_deployment = [f"{folder}/{layer.name}" for layer in layers if layer.is_of_deployment]
    old, same = (dict(_meanings(unchanged[place], reader, ())) for place in (0, -1))
    new = dict(_meanings(after, reader, of_deployment))
    if not old.keys() == same.keys() == new.keys():
        return [MeaningDifference("it has other tasks")]
    found: list[MeaningDifference] = []
    replaced = _Replaced(proposal.replacements)
    for task, meaning in old.items():
        unsteady = meaning.differing(same[task])
        was, now = _without(meaning, unsteady), _without(new[task], unsteady)
        found += _task_differences(task[1], was, now, replaced)
    found += _other_differences(unchanged, after, proposal.replacements)
    return found or list(_missing(proposal.replacements, new))


def _without(meaning: Meaning, names: Collection[str]) -> Meaning:
    configs = {key: text for key, text in meaning.configs.items() if key not in names}
    return replace(meaning, configs=configs, texts={k: text for k, text in meaning.texts.items() if k not in names})


def are_in_all(files: Iterable[DagFile]) -> Callable[[str, str], bool]:
    """Return a function that says whether every job has a key with a value; if a file is not known, none has."""
    known = list(files)
    meanings = [meaning for file in known for _, meaning in _meanings(file, _reader({}), ())]
    is_known = bool(meanings) and not any(file.findings for file in known)
    return lambda key, text: is_known and all(meaning.configs.get(key) == text for meaning in meanings)


_NOT_KNOWN: Final = (
    "cannot be compared, because the configuration of this task is not known here: it has a value that is no string, "
    "number or boolean, such as a password that the connection does not have, or one that is known only in a run"
)
_GETS_IT_TOO: Final = (
    "would get the reference, too, in a way that is not followed here, such as dict(...), a function or a class "
    "of your own. Change it by hand, for all tasks that get it"
)


def _owners(task_id: str) -> Iterator[str | None]:
    """Yield what the call of a task can have as its id: its own, with groups or without, or None; see ``can_be_of``."""
    parts = task_id.split(".")
    yield None
    yield from (".".join(parts[place:]) for place in range(len(parts)))


class _Replaced:
    """
    What replacements make of tasks. A search takes as long for many replacements as for one.

    :param replacements: those of a file
    """

    def __init__(self, replacements: Collection[Replacement]) -> None:
        self.replacements = replacements
        self._configs = {(one.task_id, one.key, one.text) for one in replacements if one.is_conf}
        self._texts = {(one.task_id, one.text) for one in replacements if not one.is_conf}
        self._pairs = {(one.key, one.text) for one in replacements if one.is_conf}

    def sets(self, task: str, key: str, text: str | None) -> bool:
        """Return whether a key of a task becomes ``text``."""
        return any((owner, key, text) in self._configs for owner in _owners(task))

    def sets_for_others(self, key: str, text: str | None) -> bool:
        """Return whether a key of any task becomes ``text``."""
        return (key, text) in self._pairs

    def has(self, task: str, text: str) -> bool:
        """Return whether anything else of a task becomes ``text``."""
        return any((owner, text) in self._texts for owner in _owners(task))


def _task_differences(task: str, old: Meaning, new: Meaning, replaced: _Replaced) -> Iterator[MeaningDifference]:
    shown = printable(task)
    for key in sorted(old.configs.keys() | new.configs.keys()):
        before, after = old.configs.get(key), new.configs.get(key)
        if before != after and (before is None or not replaced.sets(task, key, after)):
            changed = _GETS_IT_TOO if replaced.sets_for_others(key, after) else "would differ"
            why = changed if old.is_known else _NOT_KNOWN
            yield MeaningDifference(f"'{printable(key)}' of task '{shown}' {why}", task, key)
    if new.unread:
        where = f"could come from '{printable(new.unread[0])}', which cannot be read here"
        for key in sorted(old.authored - new.authored):
            yield MeaningDifference(f"'{printable(key)}' of task '{shown}' {where}", task, key)
    added = {text for name, text in new.texts.items() if old.texts.get(name) != text}
    wrong = {text for text in added if not replaced.has(task, text)}
    if wrong or not old.texts.keys() <= new.texts.keys():
        yield from _of_texts(f"the references of task '{shown}' would differ", task, wrong, replaced.replacements)


def _other_differences(
    unchanged: Sequence[DagFile], after: DagFile, replacements: Collection[Replacement]
) -> Iterator[MeaningDifference]:
    """
    Yield what the DAGs and their other tasks would get, which resolve no references.

    Of a task that gets other texts from the unchanged file, too, only those that it gets each time are compared.
    """
    old, same, new = (
        {(one.dag_id, one.task_id): one.texts for one in file.texts} for file in (unchanged[0], unchanged[-1], after)
    )
    jobs = {(one.dag_id, one.task_id) for one in unchanged[0].stored}
    for dag_id, task_id in sorted((old.keys() | new.keys()) - jobs):
        was, then, texts = (found.get((dag_id, task_id), ()) for found in (old, same, new))
        added = set(texts) - set(was)
        is_steady = then == was and ((dag_id, task_id) in old or old.keys() == same.keys())
        is_other = texts != was if is_steady else not set(was) & set(then) <= set(texts)
        if is_other or any(one.text in text for one in replacements for text in added):
            shown = f"task '{printable(task_id)}'" if task_id else f"DAG '{printable(dag_id)}'"
            yield from _of_texts(f"{shown} would get other values", "", added, replacements)


def _of_texts(
    why: str, task: str, texts: Collection[str], replacements: Iterable[Replacement]
) -> Iterator[MeaningDifference]:
    """Yield a difference for each key whose reference is in ``texts``; if there is none, one for the whole file."""
    keys = sorted({one.key for one in replacements if any(one.text in text for text in texts)})
    yield from (MeaningDifference(f"{why} through '{printable(key)}'", task, key) for key in keys)
    if not keys:
        yield MeaningDifference(why)


def _missing(
    replacements: Iterable[Replacement], new: Mapping[tuple[str, str], Meaning]
) -> Iterator[MeaningDifference]:
    jobs = [(owner, meaning) for (_, task), meaning in new.items() for owner in _owners(task)]
    configs = {(owner, *pair) for owner, meaning in jobs for pair in meaning.configs.items()}
    texts = {(owner, text) for owner, meaning in jobs for text in meaning.texts.values()}
    for one in replacements:
        if (one.task_id, one.key, one.text) not in configs and (one.task_id, one.text) not in texts:
            why = f"the reference for '{printable(one.key)}' arrives in no job"
            yield MeaningDifference(why, one.task_id or "", one.key)


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

    layers = deployed_layers(job, {}, warn=no_notes, read_file=read)  # one warn for all, for the cache of read_file
    settled = LayeredConfig(layers, spark_definition()).settled
    authored = frozenset(key for layer in job.layers for key in layer.configs)
    return Meaning(dict(settled), dict(job.texts), authored, tuple(unread), job.is_known)


def _reader(proposed: Mapping[str, Mapping[str, str]]) -> ReadFile:
    @cache
    def read(path: str, warn: Callable[[str], None]) -> ConfigLayer | None:
        if path in proposed:
            return ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, path, proposed[path])
        return file_as_deployed(path, warn)

    return read


_MOST_ROUNDS: Final = 4
"""How often the rest of a file is checked without what would mean something else; then nothing of it is proposed."""


@dataclass(frozen=True, slots=True)
class ProvedProposals:
    """
    Proposals for all files, each of which means the same as the file.

    :param files: the proposals; those of files that cannot be changed at all have no edits
    :param layers: the proposed layer files
    :param notes: what could be moved to layer files with other options
    :param problems: what is left as it is, and why
    """

    files: Sequence[FileProposal]
    layers: Sequence[SharedLayer]
    notes: Sequence[str]
    problems: Sequence[ByHand]


@dataclass(frozen=True, slots=True)
class _CheckedFile:
    """
    A proposal, and what speaks against it.

    :param refusal: why the file cannot be changed at all
    :param differing: what it would not mean as before
    """

    proposal: FileProposal
    refusal: str = ""
    differing: Sequence[MeaningDifference] = ()

    @property
    def is_proved(self) -> bool:
        return not (self.refusal or self.differing)

    @property
    def can_leave(self) -> bool:
        """Whether the file could be changed without the entries that differ."""
        return bool(self.differing) and all(one.key for one in self.differing)

    def kept(self) -> FileProposal:
        """Return the proposal, without edits if they are not proved."""
        return self.proposal if self.is_proved else replace(self.proposal, edits=(), replacements=(), removed=0)

    def problem(self) -> str:
        return self.refusal or f"with the proposed change, {self.differing[0].why}. Nothing is proposed for this file."


@dataclass(frozen=True, slots=True)
class ProofMaker:
    """
    Makes proposals for DAG files, and leaves out what cannot be proved.

    :param before: path -> what is in the file as it is
    :param imported: the files that others import
    """

    rules: ProposalRules
    before: Mapping[str, DagFile]
    imported: Collection[str]
    sharing: Sharing
    imports: Imports
    _again: dict[str, list[DagFile]] = field(default_factory=dict, init=False, repr=False)
    _after: dict[tuple[str, str], DagFile] = field(default_factory=dict, init=False, repr=False)

    def proposals(self, texts: Mapping[str, str]) -> ProvedProposals:
        """
        Return the proposals for files.

        :param texts: path -> text
        """
        problems: list[ByHand] = []
        left: dict[str, list[MeaningDifference]] = {}
        found = {path: self._proposal(path, text, problems) for path, text in texts.items()}
        for _ in range(_MOST_ROUNDS):
            moved, layers, notes = self.sharing.moved([one for one in found.values() if one])
            checked = list(self._checked(moved, layers))
            again = {one.proposal.path: one.differing for one in checked if one.can_leave}
            if not again:
                break
            for path, differing in again.items():
                left.setdefault(path, []).extend(dict.fromkeys(differing))
                found[path] = self._proposal(path, texts[path], problems, left[path])
        checked = [_refused_without_gain(one, left.get(one.proposal.path, ())) for one in checked]
        refused = {one.proposal.path: one.problem() for one in checked if not one.is_proved}
        problems += [ByHand(path, self._failing_line(path), problem) for path, problem in refused.items()]
        problems += _left_problems({path: differing for path, differing in left.items() if path not in refused})
        for path, proposal in found.items():
            seen = proposal or FileProposal(path, texts[path])
            problems += _unseen(seen, self.before[path], left.get(path, ()))
        return ProvedProposals([one.kept() for one in checked], layers, notes, problems)

    def _proposal(
        self, path: str, text: str, problems: list[ByHand], differing: Collection[MeaningDifference] = ()
    ) -> FileProposal | None:
        try:
            proposer = FileProposer(path, text, self.rules, differences=differing)
        except NO_PYTHON:
            problems.append(ByHand(path, 0, "it is no Python that this version can read."))
            return None
        found = proposer.proposal()
        return found if found.calls or found.by_hand else None

    def _checked(self, proposals: Sequence[FileProposal], layers: Sequence[SharedLayer]) -> Iterator[_CheckedFile]:
        edited = [one for one in proposals if one.edits]
        refusals = {one.path: self._refusal(one) for one in edited}
        self._import([one for one in edited if not refusals[one.path]])
        for one in proposals:
            refusal = refusals.get(one.path, "")
            if refusal or not one.edits:
                yield _CheckedFile(one, refusal)
            else:
                yield _CheckedFile(one, "", self._differences(one, layers))

    def _differences(self, one: FileProposal, layers: Sequence[SharedLayer]) -> list[MeaningDifference]:
        """Return the differences, without those that the unchanged file has from one import to the next."""
        after = self._after[one.path, one.after]
        again = self._again.get(one.path, [])
        found = differences(one, [self.before[one.path], *again], after, layers, self.sharing.folder)
        if not found or again or after.findings:
            return found
        self._again[one.path] = self.imports.before([one.path])
        return self._differences(one, layers)

    def _refusal(self, one: FileProposal) -> str:
        """Return why a file cannot be changed at all; empty if it can."""
        old = self.before[one.path]
        if old.findings:
            return f"it cannot be imported, so a change cannot be checked. {old.findings[0].message}"
        if not old.stored:
            return "it creates tasks only for other files, so a change cannot be checked. Change it by hand."
        if one.path in self.imported:
            return "other files import it, so a change could concern their jobs, too. Change it by hand."
        return ""

    def _failing_line(self, path: str) -> int:
        """Return the line at which the file as it is cannot be imported; 0 if it can, or if that is unknown."""
        return next((one.place.line or 0 for one in self.before[path].findings), 0)

    def _import(self, proposals: Iterable[FileProposal]) -> None:
        """Import the changed files that were not imported yet, in a copy of the folder."""
        new = [one for one in proposals if (one.path, one.after) not in self._after]
        for one, after in zip(new, self.imports.after(new) if new else (), strict=True):
            self._after[one.path, one.after] = after


def _refused_without_gain(one: _CheckedFile, left: Sequence[MeaningDifference]) -> _CheckedFile:
    """Return a file as refused if only the class of its operators would change, because all else is left."""
    has_gain = one.proposal.replacements or one.proposal.removed
    return replace(one, differing=left) if one.is_proved and left and not has_gain else one


_UNSEEN: Final = (
    "'{}' of {}: its template reads a connection or a variable, and is not a string in a mapping that only this task "
    "is known to use. Write it into a mapping in the call of a stock operator that the file imports by name, or change "
    "it by hand."
)
_NOT_IN_FILE: Final = (
    "'{}' of {}: its template reads a connection or a variable, and is no string in this file. Change it by hand where "
    "it is written, such as in another module or in a YAML file."
)


def _unseen(proposal: FileProposal, file: DagFile, left: Iterable[MeaningDifference]) -> Iterator[ByHand]:
    """Yield the templates that a job of the file gets in a way that its source does not show."""
    path, reported = proposal.path, {(one.task_id, one.key) for one in left}
    texts = {(one.dag_id, one.task_id): list(zip(one.keys, one.texts, strict=True)) for one in file.texts}
    for (dag_id, task_id), meaning in _meanings(file, _reader({}), ()):
        templates = [(key, text) for key, text in texts.get((dag_id, task_id), ()) if reads_secrets(text)]
        if not templates:
            continue
        calls = [call for call in proposal.calls if call.can_be_of(task_id)]
        mine = _WrittenTask(calls, [text for _, text in templates])
        for name, text in templates:
            for key in _keys_of(meaning, name, text) or [""]:
                if mine.shows(key, text) or reported & {("", key), (task_id, key)}:
                    continue
                made = mine.put_together(key)
                yield from (ByHand(path, one.node.lineno, PUT_TOGETHER.format(printable(key))) for one in made)
                if not made:
                    line = _line_of(proposal, key or name, text)
                    task, reason = ConfigResource.of_task(dag_id, task_id), _UNSEEN if line else _NOT_IN_FILE
                    yield ByHand(path, line, reason.format(printable(key or name), task))


def _keys_of(meaning: Meaning, name: str, text: str) -> list[str]:
    """Return the keys of the Spark configuration that have a template, which is hidden under a sensitive key."""
    found = [key for key, value in meaning.configs.items() if value == text]
    return found or [key for key in meaning.configs if key == name]


def _line_of(proposal: FileProposal, key: str, text: str) -> int:
    """Return the line where a file has a string, best under a key and not in a known call; 0 if nowhere."""
    nodes = list(ast.walk(ast.parse(proposal.source)))
    pairs = (pair for node in nodes if isinstance(node, ast.Dict) for pair in zip(node.keys, node.values, strict=True))
    under = {value for name, value in pairs if isinstance(name, ast.Constant) and name.value == key}
    known = {one.node.lineno for call in proposal.calls for one in call.entries()}
    found = [node for node in nodes if isinstance(node, ast.Constant) and node.value == text]
    lines = [(node not in under, node.lineno in known, node.lineno) for node in found]
    return min(lines, default=(True, True, 0))[-1]


@dataclass(frozen=True, slots=True)
class _WrittenTask:
    """
    A task and the calls that can have created it.

    :param templates: the strings of the task that read connections or variables
    """

    calls: Sequence[OperatorCall]
    templates: Collection[str] = field(repr=False)

    def shows(self, key: str, text: str) -> bool:
        """
        Return whether a call has ``text`` as it is, or a part of what it is put together from, which is reported.

        :param key: the key of the Spark configuration; empty for anything else
        """
        return any(self._shows(call, key, text) for call in self.calls)

    def _shows(self, call: OperatorCall, key: str, text: str) -> bool:
        others = [(argument, written) for _, argument, written in call.other_strings()]
        entries = {(name, one.text) for one in call.conf for name in (one.key, "")}
        whole = {*(one.text for one in call.env_vars), *(written for _, written in others)}
        parts = [*others, *(("env_vars", part) for one in call.env_vars if one.text is None for part in one.strings())]
        setting = {name for name, part in parts if reads_secrets(part) and part not in self.templates}
        return text in whole or (key, text) in entries or any(_can_set(call, name, key) for name in setting)

    def put_together(self, key: str) -> list[Setting]:
        """Return the entries of a key of the Spark configuration that are no strings in the source."""
        entries = (one for call in self.calls for one in call.conf)
        return [one for one in entries if one.text is None and key and one.key == key]


def _can_set(call: OperatorCall, argument: str, key: str) -> bool:
    """Return whether an argument can have set a key of the Spark configuration, or for an empty key anything else."""
    if argument in call.spec.named.keys:
        return call.spec.named.keys[argument] == key
    return argument == "**" or bool(key) == (argument in CONFIGURATION and argument != "env_vars")


def _left_problems(left: Mapping[str, Sequence[MeaningDifference]]) -> Iterator[ByHand]:
    """Yield what is left as it is in files of which the rest changes: each key once."""
    for path, differing in left.items():
        for one in {one.key: one for one in reversed(differing)}.values():
            yield ByHand(path, 0, f"with the proposed change, {one.why}. This key is left as it is.")
