"""The life of an operator's job: the record of each try, and the restart when its secrets have changed (KIP-297)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_config_providers.airflow_compat import AirflowSkipException, BaseOperator
from airflow_config_providers.core.cached import cached_property
from airflow_config_providers.core.nested import slots_of
from airflow_config_providers.operators.try_state import TryState

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import LayeredConfig
    from airflow_config_providers.job.handover import Handover
    from airflow_config_providers.job.job_reload import JobReload
    from airflow_config_providers.job.records.record import TryRecord
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.spark.installation import SparkInstallation


class ReloadingOperator(BaseOperator):
    """
    A base of ``ConfiguredOperator``, which stops its job and runs it anew when its secrets have changed.

    Each try leaves a record of its configuration, without values.
    """

    @cached_property
    def _try(self) -> TryState:
        return TryState()

    def __getstate__(self) -> Any:
        """Return what a copy of this operator has, pickled or not: nothing of the try that this one runs."""
        state = super().__getstate__()  # type: ignore[no-untyped-call]  # Airflow has no types here
        return {name: value for name, value in state.items() if name != "_try"}

    @abstractmethod
    def _run_once(self, context: Any, run: Callable[[], Any]) -> Any:
        """Call ``run``, which runs the job, with the values of its run; return its result with references."""

    @abstractmethod
    def _show_run(self, run: JobRun) -> None:
        """Show where the values of ``run`` come from."""

    @abstractmethod
    def _job_spark(self) -> SparkInstallation | None:
        """Return the Spark that the operator starts on this machine; None if it starts none."""

    def _version_of_spark(self) -> str | None:
        """Return the version of the Spark that runs the job; None if it is not known."""
        spark = self._job_spark()
        return spark.version if spark else None

    def _keep_record(self, context: Any) -> None:
        if (keeper := self._try.record_keeper) is not None:
            keeper.keep(lambda: self._try_record(context), self._try.run.reverser)

    def _begin_record(self, context: Any) -> None:
        """Keep the record of a job that is about to begin, to which its id is added later."""
        from airflow_config_providers.operators.record_keeper import RecordKeeper

        self._try.record_keeper = RecordKeeper.of(context, self.log)
        self._keep_record(context)

    def _keep_refused(
        self, context: Any, layered: LayeredConfig | None, problems: Sequence[str], *, is_late: bool = False
    ) -> None:
        """Keep the record of a try that is refused before its job is submitted; parameters as for the keeper."""
        from airflow_config_providers.operators.record_keeper import RecordKeeper, refused_try

        ti, keeper = context.get("ti"), RecordKeeper.of(context, self.log)
        keeper.keep_refused(lambda: refused_try(ti, layered, problems, spark=self._version_of_spark()), is_late=is_late)

    def _try_record(self, context: Any) -> TryRecord:
        from airflow_config_providers.operators.record_keeper import submitted_try

        return submitted_try(context.get("ti"), self._try.run, spark=self._version_of_spark())

    def _reload_notes(self) -> Iterator[str]:
        reason = self._obstacle_to_reload() if self._try.run.reloads else None
        if reason:
            yield f"This job is not restarted when its secrets change: {reason}"

    def _obstacle_to_reload(self) -> str | None:
        """Return a sentence that says why the job cannot be restarted while it runs; None if it can."""
        if getattr(self, "deferrable", False):
            return "its task is deferred while the job runs. To have it restarted, set deferrable=False."
        return None

    def _run_with_record(self, context: Any, run: Callable[[], Any]) -> Any:
        """Do the same as ``_run_with_reloads``, and leave a record."""
        self._begin_record(context)
        try:
            return self._run_with_reloads(context, run)
        finally:
            self._try.end_record()

    def _run_with_reloads(self, context: Any, run: Callable[[], Any]) -> Any:
        """
        Run the job, and run it anew whenever it was stopped, or failed, because its secrets have changed.

        :raises SubmitError: the task was killed while its references were resolved, which can take a while
        """
        self._try.refuse_after_kill()
        if not self._try.watched_run.reloads or self._obstacle_to_reload():
            return self._run_once(context, run)
        with self._watching() as reload:
            before = attributes(self)
            while True:
                try:
                    reload.watch(self._try.watched_run, is_outdated=self._try.is_outdated)
                    return self._run_once(context, run)
                except AirflowSkipException:
                    raise
                except Exception:
                    next_run = reload.next_run()
                    if next_run is None:
                        raise
                self._begin_anew(context, before, next_run)
                self._keep_record(context)

    @contextmanager
    def _watching(self) -> Iterator[JobReload]:
        from airflow_config_providers.job.handover import Handover
        from airflow_config_providers.job.job_reload import JobControl, JobReload, ReloadLimits

        limits = ReloadLimits.of_deployment()
        job = JobControl(self._stop_job, self._has_begun, lambda run: self._require_deliverable(Handover(run)))
        with JobReload(job, log=self.log, limits=limits) as reload:
            self._try.reload = reload
            try:
                yield reload
            finally:
                self._try.reload = None

    def _require_deliverable(self, handover: Handover) -> None:
        """
        Make sure that the values of the next run would reach a job; called in another thread, while the job runs.

        :raises ConfigProvidersError: one would not
        """

    def _has_begun(self) -> bool:
        """Return whether there is a job that ``_stop_job`` can stop; called in another thread."""
        return True

    def _stop_job(self) -> None:
        """Stop the running job, so that it can be submitted again; called in another thread."""
        try:
            self.on_kill()
        except BaseException:
            self._try.is_killed = False  # it goes on
            raise

    def on_kill(self) -> None:
        """Kill the job, and do not run it anew, or at all."""
        self._try.kill()
        if self._try.has_run:  # there is no job before rendering ends
            super().on_kill()

    def _begin_anew(self, context: Any, before: Mapping[str, Any], run: JobRun) -> None:
        """Make this operator as it was ``before`` it ran, with the values of ``run``."""
        for name in attributes(self).keys() - before.keys():
            delattr(self, name)
        for name, value in before.items():
            object.__setattr__(self, name, value)
        self._try.begin_anew(run)
        self._show_run(run)


def attributes(operator: object) -> dict[str, Any]:
    """Return the attributes of ``operator``, including those in slots."""
    slots = {name: getattr(operator, name) for name, _ in slots_of(type(operator)) if hasattr(operator, name)}
    return {**slots, **vars(operator)}
