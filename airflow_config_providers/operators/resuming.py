"""A task that goes on after a deferral, when its job can already have been submitted, or have ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from airflow_config_providers.airflow_compat import resuming_method
from airflow_config_providers.core.text import first_of
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.operators.reversal.author_hooks import defines

if TYPE_CHECKING:
    from airflow_config_providers.job.configuration import JobConfiguration, SettledJob
    from airflow_config_providers.job.policies import TaskVerdict
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.job.sealed_values import ValueSeal
    from airflow_config_providers.operators.job_operator import JobOperator

_NOT_ASKED: Final = "This task went on after a deferral. What is shown was settled anew, without asking the policies, "
_SETTLED_ANEW: Final = f"{_NOT_ASKED}and {{}}."

_KNOWN: Final = ("airflow.providers.", "airflow.sdk.", "airflow_config_providers.")
"""The packages of which it is known what their methods do after a deferral: only ``execute`` submits a job."""

_MOST_NAMED: Final = 20
"""How many keys a note names."""

SEALED_VALUES: Final = "_config_providers_values"
"""The argument with which a deferred task gets the values that its job had before, sealed."""


def deferral_seal(operator: JobOperator, context: Any) -> ValueSeal:
    """Return what seals the values of a try that is deferred, and opens them when it goes on."""
    from airflow_config_providers.job.sealed_values import ValueSeal

    ti = context.get("ti")
    return ValueSeal.of_task(ti, "deferral", getattr(ti, "try_number", ""), log=operator.log)


def know_sealed(operator: JobOperator, context: Any, run: JobRun, sealed: object) -> None:
    """
    Have ``run`` show references also in place of the values that its job had before a deferral.

    :param sealed: these values; None if there are none
    """
    earlier = None if sealed is None else deferral_seal(operator, context).open(sealed)
    if earlier is not None:
        run.know(earlier)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Resumption:
    """
    How ``operator`` begins, or goes on after a deferral.

    The policies are asked once for each job, however often its task goes on.

    :param method: the method in which it goes on; None if it begins
    """

    operator: JobOperator
    context: Any
    method: str | None

    @classmethod
    def of(cls, operator: JobOperator, context: Any) -> Self:
        """Return how an operator begins or goes on that is rendered with ``context``."""
        return cls(operator, context, resuming_method(context.get("ti")))

    def verdict_on(self, configuration: JobConfiguration, settled: SettledJob) -> TaskVerdict:
        """Return what the policies say; nothing if the job has run, so that they are asked only if another begins."""
        from airflow_config_providers.job.policies import NO_VERDICT

        if not self._has_run_its_job:
            return configuration.verdict(settled)
        self.operator._try_state.before_submit = partial(self._begin_late, partial(configuration.verdict, settled))
        return NO_VERDICT

    def prepare(self) -> None:
        """Have the record of a task that goes on kept only before it submits a job."""
        # Another method than execute can be called after the job, too.
        if self.method is not None and (self.method != "execute" or self._is_known):
            self.operator._try_state.before_submit = self._begin_late

    @property
    def submits_late(self) -> bool:
        """Whether the task goes on in its ``execute``, before its job."""
        return self.method == "execute" and self.operator._try_state.before_submit is not None

    def notes(self, run: JobRun) -> Sequence[str]:
        """Return how what is shown differs from what the job got, if that was submitted before a deferral."""
        if not self._has_run_its_job:
            return []
        from airflow_config_providers.operators.try_records import TryRecords

        changed = TryRecords(self.operator, self.context).changed_keys(run)
        if changed is None:
            return [_SETTLED_ANEW.format("this try has left no record of what its job was submitted with")]
        named = first_of(changed, most=_MOST_NAMED)
        differs = f"differs from what its job was submitted with, which the record of this try has: {named}"
        return [_SETTLED_ANEW.format(differs)] if changed else []

    @property
    def _has_run_its_job(self) -> bool:
        """
        Whether the task goes on after its job.

        In ``execute``, as on EMR Serverless, it goes on before it. A method of a class outside Airflow's providers and
        this package can submit a job in any way, so a task that goes on in one is not known to have run its job.
        """
        return self.method not in {None, "execute"} and self._is_known

    @property
    def _is_known(self) -> bool:
        """Whether it is known what the method does: only known packages define it."""
        name = self.method
        owners = [one.__module__ for one in type(self.operator).__mro__ if name and defines(one, name)]
        return bool(owners) and all(owner.startswith(_KNOWN) for owner in owners)

    def _begin_late(self, ask: Callable[[], TaskVerdict] | None = None) -> None:
        """Keep and show what the job gets, in place of what was kept before the deferral, or keep why it is refused."""
        from airflow_config_providers.operators.try_records import TryRecords

        records = TryRecords(self.operator, self.context)
        if ask is not None:
            run = self.operator._try_state.run
            try:
                run.verdict = ask()
            except ConfigProvidersError as error:
                records.keep_refused(run.resolved.layered, error.problems, is_late=True)
                raise
            self._show_as_asked()
        records.begin()

    def _show_as_asked(self) -> None:
        lines = self.operator.effective_config or ()
        self.operator.effective_config = [line for line in lines if not line.startswith(f"! {_NOT_ASKED}")]
        self.operator.overwrite_rtif_after_execution = True  # by which Airflow shows it
