"""Layer files for values that many jobs share."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from airflow_config_providers.adoption.dag_source import OperatorCall, Setting
from airflow_config_providers.adoption.edits import Edit, Positions, without_overlaps
from airflow_config_providers.adoption.file_proposal import CLASSES, FileProposal, key_node, plain_settings
from airflow_config_providers.core import properties
from airflow_config_providers.core.text import grouped

_OURS: Final = frozenset(f"{module}.{name}" for module, name in CLASSES.values())
_PUBLIC: Final = frozenset(f"airflow_config_providers.{name}" for _, name in CLASSES.values())


@dataclass(frozen=True, slots=True)
class SharedLayer:
    """
    A layer file with values that several jobs share.

    :param name: the name of the file
    :param jobs: how many calls have the values now
    :param is_of_deployment: whether every job has them, so that the setting ``config_files`` can name the file
    """

    name: str
    configs: Mapping[str, str] = field(repr=False)
    jobs: int
    is_of_deployment: bool = False

    @property
    def text(self) -> str:
        """The content of the file."""
        return properties.dump(self.configs)

    @property
    def reduction(self) -> str:
        """What becomes of the entries, for people."""
        before, after = self.jobs * len(self.configs), len(self.configs)
        return f"{self.name}: {before} entries of {self.jobs} jobs become {after}"


@dataclass(frozen=True, slots=True)
class _SharingJob:
    file: int
    call: OperatorCall
    settings: Mapping[tuple[str, str], Setting]


@dataclass(frozen=True, slots=True)
class Sharing:
    """
    Finds values that jobs share, and moves them to layer files.

    :param least: how many jobs must share a value
    :param folder: the folder of the layer files, as the jobs see it
    :param uses_classes: whether operators can name layer files, which stock operators cannot
    :param is_of_all: returns whether every job of the deployment has a key with this value
    :param taken: the names of files that exist already
    """

    least: int
    folder: str
    uses_classes: bool
    is_of_all: Callable[[str, str], bool]
    taken: Collection[str] = ()

    def moved(self, proposals: Sequence[FileProposal]) -> tuple[list[FileProposal], list[SharedLayer], list[str]]:
        """Return the proposals with the values moved, the layer files, and what could be moved with other options."""
        every = [job for number, one in enumerate(proposals) for job in self._jobs(number, one)]
        positions = [Positions(one.source) for one in proposals]
        layers, notes = list[SharedLayer](), list[str]()
        edits, paths = defaultdict[int, list[Edit]](list), defaultdict[int, list[str]](list)
        free = self._free_names()
        for users, keys, is_all in self._groups(every):
            configs = dict(sorted(keys))
            if not (self.uses_classes or is_all):
                notes.append(f"{len(users)} jobs share {', '.join(configs)}.")
                continue
            layers.append(SharedLayer(next(free), configs, len(users), is_all))
            for user in users:
                job = every[user]
                edits[job.file] += _removals(job, keys, positions[job.file])
                if not is_all:
                    paths[user].append(f"{self.folder}/{layers[-1].name}")
        for user, more in paths.items():
            job = every[user]
            edits[job.file].append(_with_files(job.call, more, positions[job.file]))
        return [_with_edits(one, edits[number]) for number, one in enumerate(proposals)], layers, notes

    def _free_names(self) -> Iterator[str]:
        names = (f"shared-{number}.properties" for number in count(1))
        return (name for name in names if name not in self.taken)

    def _jobs(self, number: int, proposal: FileProposal) -> Iterator[_SharingJob]:
        positions = Positions(proposal.source)
        for call in proposal.calls:
            if not (call.is_direct and self._can_share(call, proposal, positions)):
                continue
            found = {(one.key, text): one for one, text in plain_settings(call, proposal.replaced)}
            shown = {pair: one for pair, one in found.items() if _is_free(one, proposal, positions)}
            yield _SharingJob(number, call, shown)

    def _groups(self, jobs: Sequence[_SharingJob]) -> list[tuple[list[int], list[tuple[str, str]], bool]]:
        """
        Return the values that the same jobs share, and whether all jobs have them.

        A layer file must save more entries than it costs lines.
        """
        users = grouped((pair, number) for number, job in enumerate(jobs) for pair in job.settings)
        shared = {pair: tuple(found) for pair, found in users.items() if len(found) >= self.least}
        groups = grouped(((found, self.is_of_all(*pair)), pair) for pair, found in shared.items())
        worth = [
            (list(found), pairs, is_all)
            for (found, is_all), pairs in groups.items()
            if len(pairs) * (len(found) - 1) > (0 if is_all else len(found))
        ]
        return sorted(worth, key=lambda group: (-len(group[0]) * len(group[1]), group[1]))

    def _can_share(self, call: OperatorCall, proposal: FileProposal, positions: Positions) -> bool:
        """Return whether the call can name one more layer file, as the strongest."""
        if call.reused or call.argument("properties_file") is not None:
            return False
        if not self.uses_classes:
            return call.argument("config_files") is None
        is_ours = call.path in CLASSES or call.path in _OURS or call.path in _PUBLIC
        edit = _with_files(call, ["x"], positions)
        return is_ours and _has_list(call) and not any(line in proposal.hidden for line in positions.lines(edit))


def _removals(job: _SharingJob, pairs: Iterable[tuple[str, str]], positions: Positions) -> Iterator[Edit]:
    for pair in pairs:
        setting = job.settings[pair]
        if (key := key_node(setting)) is not None:
            yield positions.removing(key, setting.mapping)


def _is_free(setting: Setting, proposal: FileProposal, positions: Positions) -> bool:
    """Return whether an entry can be moved: its lines can be shown, and it is neither removed already nor left."""
    key = key_node(setting)
    if key is None or setting.node in proposal.left:
        return False
    edit = positions.removing(key, setting.mapping)
    is_removed = any(edit == other for other in proposal.edits)
    return not is_removed and not any(line in proposal.hidden for line in positions.lines(edit))


def _has_list(call: OperatorCall) -> bool:
    files = call.argument("config_files")
    return files is None or (isinstance(files, ast.List) and bool(files.elts))


def written_path(path: str) -> str:
    """Return the path of a layer file as a proposal writes it into a DAG file."""
    return json.dumps(path, ensure_ascii=False)


def _with_files(call: OperatorCall, paths: Sequence[str], positions: Positions) -> Edit:
    """Return the edit that names more layer files, the strongest last."""
    written = ", ".join(map(written_path, paths))
    files = call.argument("config_files")
    if isinstance(files, ast.List) and files.elts:
        return positions.after(files.elts[-1], f", {written}")
    conf = next(keyword for keyword in call.node.keywords if isinstance(keyword.value, ast.Dict))
    return positions.before_keyword(conf, f"config_files=[{written}]")


def _with_edits(proposal: FileProposal, edits: Iterable[Edit]) -> FileProposal:
    """Return a proposal with more edits: a removal takes the place of a change inside of it."""
    return replace(proposal, edits=tuple(without_overlaps([*proposal.edits, *edits])))
