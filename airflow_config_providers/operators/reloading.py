"""The restart of an operator's job when its secrets have changed (KIP-297)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_config_providers.airflow_compat import AirflowSkipException
from airflow_config_providers.operators.execution import attributes, run_once
from airflow_config_providers.operators.shown_job import show_run
from airflow_config_providers.operators.try_records import TryRecords

if TYPE_CHECKING:
    from airflow_config_providers.job.job_reload import JobReload
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.operators.job_operator import JobOperator
    from airflow_config_providers.operators.try_state import TryState


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Restarts:
    """Runs the job of ``operator``, and stops it and runs it anew when its secrets have changed."""

    operator: JobOperator
    context: Any

    def run_with_record(self, run: Callable[[], Any]) -> Any:
        """
        Run the job, and run it anew whenever it was stopped, or failed, because its secrets have changed.

        :raises SubmitError: the task was killed while its references were resolved, which can take a while
        """
        records = TryRecords(self.operator, self.context)
        records.begin()
        try:
            return self._run_with_reloads(run, records)
        finally:
            self._state.end_record()

    @property
    def _state(self) -> TryState:
        return self.operator._try_state

    def _run_with_reloads(self, run: Callable[[], Any], records: TryRecords) -> Any:
        self._state.refuse_after_kill()
        if not self._state.watched_run.reloads or self.operator._obstacle_to_reload():
            return run_once(self.operator, self.context, run)
        with self._watching() as reload:
            before = attributes(self.operator)
            while True:
                try:
                    reload.watch(self._state.watched_run, is_outdated=self._state.is_outdated)
                    return run_once(self.operator, self.context, run)
                except AirflowSkipException:
                    raise
                except Exception:
                    next_run = reload.next_run()
                    if next_run is None:
                        raise
                self._begin_anew(before, next_run)
                records.keep()

    @contextmanager
    def _watching(self) -> Iterator[JobReload]:
        from airflow_config_providers.job.handover import Handover
        from airflow_config_providers.job.job_reload import JobControl, JobReload, ReloadLimits

        operator, limits = self.operator, ReloadLimits.of_deployment()
        job = JobControl(
            operator._stop_job, operator._has_begun, lambda run: operator._require_deliverable(Handover(run))
        )
        with JobReload(job, log=operator.log, limits=limits) as reload:
            self._state.reload = reload
            try:
                yield reload
            finally:
                self._state.reload = None

    def _begin_anew(self, before: Mapping[str, Any], run: JobRun) -> None:
        """
        Make the operator as it was ``before`` it ran, with the values of ``run``.

        What code has added to the configuration, or changed there, after it was settled, is kept.
        """
        added = self._added()
        self._restore(before)
        self._state.begin_anew(run)
        fields = self.operator._job_fields()
        show_run(self.operator, fields, run)
        if added and (conf := fields.conf) is not None:
            setattr(self.operator, conf.field, conf.put(fields.read(conf.field), {**fields.configs, **added}))
        self.operator._forget_job(self.context)

    def _added(self) -> dict[str, str]:
        if self._state.followed:
            return {}
        return self._state.handover.added(self.operator._job_fields().configs)

    def _restore(self, before: Mapping[str, Any]) -> None:
        for name in attributes(self.operator).keys() - before.keys():
            delattr(self.operator, name)
        for name, value in before.items():
            object.__setattr__(self.operator, name, value)
