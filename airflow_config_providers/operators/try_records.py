"""The record that each try leaves of its configuration, without values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_config_providers.operators.authored import version_of_spark
from airflow_config_providers.operators.record_keeper import RecordKeeper, refused_try, submitted_try

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import LayeredConfig
    from airflow_config_providers.job.records.record import TryRecord
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.operators.job_operator import JobOperator


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TryRecords:
    """Keeps the record of the try of ``operator`` that ``context`` belongs to."""

    operator: JobOperator
    context: Any

    def begin(self) -> None:
        """Keep the record of a job that is about to begin, to which its id is added later."""
        self.operator._try_state.record_keeper = self._keeper
        self.keep()

    def keep(self) -> None:
        """Keep the record of this try, but not in place of the one of the job that this very try submitted."""
        state = self.operator._try_state
        if (keeper := state.record_keeper) is not None:
            keep = keeper.keep_first if state.followed and state.followed.is_own else keeper.keep
            keep(self._submitted, state.run.reverser)

    def keep_refused(self, layered: LayeredConfig | None, problems: Sequence[str], *, is_late: bool = False) -> None:
        """Keep the record of a try that is refused before its job is submitted; parameters as for the keeper."""
        self._keeper.keep_refused(
            lambda: refused_try(self._ti, layered, problems, spark=version_of_spark(self.operator)), is_late=is_late
        )

    def changed_keys(self, run: JobRun) -> Sequence[str] | None:
        """Return the keys of ``run`` that this try had other values for in an earlier process; as the keeper does."""
        return self._keeper.changed_keys(self._ti, run.resolved.layered, run.reverser)

    def _submitted(self) -> TryRecord:
        state = self.operator._try_state
        record = submitted_try(self._ti, state.run, spark=version_of_spark(self.operator))
        return state.followed.recorded(record) if state.followed else record

    @property
    def _keeper(self) -> RecordKeeper:
        return RecordKeeper.of(self.context, self.operator.log)

    @property
    def _ti(self) -> Any:
        return self.context.get("ti")
