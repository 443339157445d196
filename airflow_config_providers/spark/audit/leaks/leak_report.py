"""The result of a search for leaks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from airflow_config_providers.core.wording import how_many
from airflow_config_providers.spark.audit.leaks.baseline import Baseline
from airflow_config_providers.spark.audit.leaks.leak import Leak
from airflow_config_providers.spark.audit.leaks.revealing_paths import RevealingPaths
from airflow_config_providers.spark.audit.leaks.seen_files import SearchedFile, SeenFiles
from airflow_config_providers.spark.audit.leaks.sought import Sought
from airflow_config_providers.spark.audit.leaks.tables import SearchedRows

_OTHER_VALUE: Final = "The baseline has the id of {}, but accepts another value there."
_INCOMPARABLE: Final = (
    "The baseline has the id of {}, but the values cannot be compared: its fingerprints were made with another "
    "[config_providers] password_encoder_secret, or that is not set here. Set it, or accept the leaks again."
)

_ANY_VALUE: Final = (
    "The baseline has no fingerprint for {} that it leaves out, so it accepts any value there. Write it again with "
    "[config_providers] password_encoder_secret set."
)


@dataclass(slots=True)
class LeakReport:
    """
    The result of an audit.

    :param leaks: all leaks, by file and line
    :param unread: path -> why it, or a part of it, could not be read
    :param uncopied: path -> why it has no reversed copy
    :param unresolved: why references have no value, and so were not searched for
    :param skipped: path -> why it was not read: links, pipes, sockets, devices
    :param files: how many files were searched
    :param octets: how many bytes were searched
    :param unsearched: how many files or folders could not be read, not even in part
    :param read: how many of the files were read by this audit, and not by an earlier one
    :param accepted: how many leaks are left out, because a baseline accepts them
    :param sought: what was searched for
    :param rows: how many rows of Airflow's database were searched
    :param notes: what else people should know, in sentences
    """

    leaks: list[Leak] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    uncopied: dict[str, str] = field(default_factory=dict)
    unresolved: Sequence[str] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    files: int = 0
    octets: int = 0
    unsearched: int = 0
    read: int = 0
    accepted: int = 0
    sought: Sought = field(default=Sought(), repr=False)
    rows: int = 0
    notes: Sequence[str] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all files could be read, and copied if that was asked for, and every reference has a value."""
        return not self.unread and not self.uncopied and not self.unresolved

    def accept(self, baseline: Baseline) -> None:
        """Leave out the leaks that a baseline accepts, and note why it does not accept others in the same places."""
        any_value = sum(map(baseline.accepts_any, self.leaks))
        fresh = [leak for leak in self.leaks if not baseline.accepts(leak)]
        self.accepted += len(self.leaks) - len(fresh)
        self.leaks = fresh
        counts = {
            _OTHER_VALUE: sum(map(baseline.has_other_value, fresh)),
            _INCOMPARABLE: sum(map(baseline.is_incomparable, fresh)),
            _ANY_VALUE: any_value,
        }
        self.notes = [*self.notes, *(note.format(how_many(count, "leak")) for note, count in counts.items() if count)]

    def add_all(
        self, some: Sequence[SearchedFile], seen: SeenFiles | None, *, hidden: Collection[str] = frozenset()
    ) -> None:
        """Add what was found in files that were read now, and let ``seen`` keep it, but not of ``hidden`` paths."""
        for one in some:
            self.add(one)
        self.read += sum(not one.found.is_unread for one in some)
        if seen:
            seen.keep([one for one in some if one.file.path not in hidden])

    def show(self, revealing: RevealingPaths) -> None:
        """Replace the values in paths, and add them as leaks."""
        self.leaks = [replace(leak, file=revealing.show(leak.file)) for leak in self.leaks] + list(revealing.leaks)
        self.unread = {revealing.show(path): reason for path, reason in self.unread.items()}
        self.uncopied = {revealing.show(path): reason for path, reason in self.uncopied.items()}
        self.skipped = {revealing.show(path): reason for path, reason in self.skipped.items()}

    def add_tables(self, found: SearchedRows) -> None:
        """Add what was found in a database."""
        self.leaks += found.leaks
        self.rows += found.rows
        self.octets += found.octets
        self.unread |= found.unread
        self.notes = [*self.notes, *([found.note] if found.note else [])]

    def add(self, one: SearchedFile) -> None:
        """Add what was found in a file."""
        self.leaks += one.found.leaks
        self.files += not one.found.is_unread
        self.unsearched += one.found.is_unread
        self.octets += one.found.octets
        if one.found.problem:
            self.unread[one.file.path] = one.found.problem
