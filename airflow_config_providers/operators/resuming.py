"""A task that goes on after a deferral, whose job can have been submitted, and have ended, before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.airflow_compat import resuming_method
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.wording import first_of
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.operators.authored import AuthoredOperator
from airflow_config_providers.operators.reversal.author_hooks import defines

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import ConfigLayer
    from airflow_config_providers.job.configuration import JobConfiguration
    from airflow_config_providers.job.policies import TaskVerdict
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.job.sealed_values import ValueSeal

_NOT_ASKED: Final = "This task went on after a deferral. What is shown was settled anew, without asking the policies, "
_SETTLED_ANEW: Final = f"{_NOT_ASKED}and {{}}."

_KNOWN: Final = ("airflow.providers.", "airflow.sdk.", "airflow_config_providers.")
"""The packages of which it is known what their methods do after a deferral: only ``execute`` submits a job."""

_MOST_NAMED: Final = 20
"""How many keys a note names."""

SEALED_VALUES: Final = "_config_providers_values"
"""The argument with which a deferred task gets the values that its job had before, sealed."""


class ResumingOperator(AuthoredOperator):
    """A base of ``ConfiguredOperator``, which asks the policies once for each job, however often its task goes on."""

    effective_config: list[str] | None = None  # None, so that Airflow does not store it with the DAG

    def _know_sealed(self, run: JobRun, context: Any, sealed: object) -> None:
        """Have ``run`` show references also in place of the values that its job had before a deferral."""
        earlier = None if sealed is None else self._deferral_seal(context).open(sealed)
        if earlier is not None:
            run.know(earlier)

    def _deferral_seal(self, context: Any) -> ValueSeal:
        from airflow_config_providers.job.sealed_values import ValueSeal

        ti = context.get("ti")
        return ValueSeal.of_task(ti, "deferral", getattr(ti, "try_number", ""), log=self.log)

    def _has_run_its_job(self, context: Any) -> bool:
        """
        Return whether the task goes on after its job.

        In ``execute``, as on EMR Serverless, it goes on before it. A method of a class outside Airflow's providers and
        this package can submit a job in any way, so it does not count as going on after the job either.
        """
        name = resuming_method(context.get("ti"))
        return name not in {None, "execute"} and self._is_known_method(name)

    def _is_known_method(self, name: str) -> bool:
        """Return whether it is known what a method of this task does: only known packages define it."""
        owners = [one.__module__ for one in type(self).__mro__ if defines(one, name)]
        return bool(owners) and all(owner.startswith(_KNOWN) for owner in owners)

    def _verdict_on(self, configuration: JobConfiguration, layers: Sequence[ConfigLayer], context: Any) -> TaskVerdict:
        """Return what the policies say; nothing if the job has run, so that they are asked only if another begins."""
        from airflow_config_providers.job.policies import NO_VERDICT

        ask = partial(configuration.verdict, layers)
        if not self._has_run_its_job(context):
            return ask()
        self._try.before_submit = partial(self._begin_late, context, ask)
        return NO_VERDICT

    def _ask_late(self) -> None:
        """
        Ask the policies, and keep the record, before a task that went on after a deferral submits a job.

        :raises PolicyViolation: policies deny the configuration
        """
        before, self._try.before_submit = self._try.before_submit, None
        if before is not None:
            before()

    def _begin_late(self, context: Any, ask: Callable[[], TaskVerdict] | None = None) -> None:
        """Keep and show what the job gets, in place of what was kept before the deferral, or keep why it is refused."""
        run = self._try.run
        if ask is not None:
            try:
                run.verdict = ask()
            except ConfigProvidersError as error:
                self._keep_refused(context, run.resolved.layered, error.problems, is_late=True)
                raise
            lines = self.effective_config or ()
            self.effective_config = [line for line in lines if not line.startswith(f"! {_NOT_ASKED}")]
            self.overwrite_rtif_after_execution = True  # by which Airflow shows it
        self._begin_record(context)

    def _resuming_notes(self, context: Any, run: JobRun) -> list[str]:
        """Return how what is shown differs from what the job got, if that was submitted before a deferral."""
        if not self._has_run_its_job(context):
            return []
        from airflow_config_providers.operators.record_keeper import RecordKeeper

        keeper = RecordKeeper.of(context, self.log)
        changed = keeper.changed_keys(context["ti"], run.resolved.layered, run.reverser)
        if changed is None:
            return [_SETTLED_ANEW.format("this try has left no record of what its job was submitted with")]
        named = first_of(list(map(printable, changed)), _MOST_NAMED)
        differs = f"differs from what its job was submitted with, which the record of this try has: {named}"
        return [_SETTLED_ANEW.format(differs)] if changed else []
