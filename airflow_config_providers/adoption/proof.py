"""Proposals that are proved: each changed file is imported, and what would mean something else is left as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from airflow_config_providers.adoption.file_proposal import (
    ByHand,
    FileProposal,
    FileProposer,
    MeaningDifference,
    ProposalRules,
)
from airflow_config_providers.adoption.same_meaning import Imports, differences
from airflow_config_providers.adoption.shared_layers import SharedLayer, Sharing
from airflow_config_providers.lint.dag_files import DagFile

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
        return self.refusal or f"after the change, {self.differing[0].why}. Nothing is proposed for this file."


@dataclass(frozen=True, slots=True)
class ProofMaker:
    """
    Makes proposals for DAG files, and leaves out what cannot be proved.

    :param before: path -> what is in the file as it is
    :param imported: the files that others import
    :param folder: the folder of the layer files, as the jobs see it
    """

    rules: ProposalRules
    before: Mapping[str, DagFile]
    imported: Collection[str]
    sharing: Sharing
    imports: Imports
    folder: str
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
                left.setdefault(path, []).extend(differing)
                found[path] = self._proposal(path, texts[path], problems, left[path])
        checked = [_refused_without_gain(one, left.get(one.proposal.path, ())) for one in checked]
        refused = {one.proposal.path: one.problem() for one in checked if not one.is_proved}
        problems += [ByHand(path, 0, problem) for path, problem in refused.items()]
        problems += _left_problems({path: differing for path, differing in left.items() if path not in refused})
        return ProvedProposals([one.kept() for one in checked], layers, notes, problems)

    def _proposal(
        self, path: str, text: str, problems: list[ByHand], differing: Collection[MeaningDifference] = ()
    ) -> FileProposal | None:
        try:
            proposer = FileProposer(path, text, self.rules, differences=differing)
        except (SyntaxError, ValueError, RecursionError):
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
                after = self._after[one.path, one.after]
                yield _CheckedFile(one, "", differences(one, self.before[one.path], after, layers, self.folder))

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

    def _import(self, proposals: Iterable[FileProposal]) -> None:
        """Import the changed files that were not imported yet, in a copy of the folder."""
        new = [one for one in proposals if (one.path, one.after) not in self._after]
        for one, after in zip(new, self.imports.after(new) if new else (), strict=True):
            self._after[one.path, one.after] = after


def _refused_without_gain(one: _CheckedFile, left: Sequence[MeaningDifference]) -> _CheckedFile:
    """Return a file as refused if only the class of its operators would change, because all else is left."""
    has_gain = one.proposal.replacements or one.proposal.removed
    return replace(one, differing=left) if one.is_proved and left and not has_gain else one


def _left_problems(left: Mapping[str, Sequence[MeaningDifference]]) -> Iterator[ByHand]:
    """Yield what is left as it is in files of which the rest changes: each key once."""
    for path, differing in left.items():
        for one in {one.key: one for one in reversed(differing)}.values():
            yield ByHand(path, 0, f"after the change, {one.why}. This key is left as it is.")
