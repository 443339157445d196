"""The reload of a running job whose secrets may have changed, and its restart if they have (KIP-297)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any, Final, Self

from airflow_config_providers import settings
from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.core.concurrency.timetable import Timetable
from airflow_config_providers.core.concurrency.workers import in_thread
from airflow_config_providers.core.lookup import Place
from airflow_config_providers.core.reload import ReloadAction, ReloadScheduler, without_reload_action
from airflow_config_providers.core.text import first_of, grouped, printable
from airflow_config_providers.exceptions import ConfigProvidersError, ProviderUnavailableError, SubmitError
from airflow_config_providers.job.run import JobRun

_AFTER_FAILURE: Final = 60.0
"""Seconds after which something is tried again that failed because something could not answer."""

_PATIENCE: Final = 30.0
"""Seconds that a job waits for subscriptions before it begins without them."""

_NOT_NOTICED: Final = "Changes of %s are not noticed until its provider answers: %s"


class PlaceSubscriptions:
    """
    Has providers report changes of a job's values, and subscribes again after an outage.

    :param log: the log of the task; it gets a warning about each place whose changes are not noticed
    :param note: is called with a run, and the place that has changed
    :param poll: is called with a run, and a place whose provider has no subscriptions, as is known after an outage
    :param is_watched: returns whether a run is still watched
    """

    def __init__(
        self,
        timetable: Timetable,
        *,
        log: Any,
        note: Callable[[JobRun, str], None],
        poll: Callable[[JobRun, Place], None],
        is_watched: Callable[[JobRun], bool],
    ) -> None:
        self._timetable = timetable
        self._log = log
        self._note = note
        self._poll = poll
        self._is_watched = is_watched

    def subscribe_all(self, run: JobRun) -> list[Place]:
        """
        Subscribe to all places of ``run``, and return those whose providers do not support it, or have not answered.

        Each provider is asked in a thread of its own, as it can hang; one that answers late is subscribed to then.
        """
        places, noticed = list(run.places), dict[Place, bool]()
        names = dict.fromkeys(provider for provider, _ in places)
        of_providers = [[place for place in places if place[0] == name] for name in names]
        wait([in_thread(self._subscribe_each, run, each, noticed) for each in of_providers], _PATIENCE)
        for place in [place for place in places if place not in noticed]:
            self._log.warning(_NOT_NOTICED, _place_name(place), f"no answer in {_PATIENCE:g} seconds")
        return [place for place in places if not noticed.get(place)]

    def _subscribe_each(self, run: JobRun, places: Sequence[Place], noticed: dict[Place, bool]) -> None:
        """Subscribe to places of one provider, and note whether changes there are noticed."""
        down: list[Place] = []
        for place in places:
            noticed[place] = not self._is_watched(run) or self._subscribe(run, place, down)
        self._plan_again(run, down)

    def _subscribe(self, run: JobRun, place: Place, down: list[Place], *, is_again: bool = False) -> bool:
        """
        Have changes of values at ``place`` noticed; return whether its provider can do that.

        :param down: gets the place if its provider is not available
        """
        try:
            run.subscribe(place, lambda: self._note(run, _place_name(place)))
        except NotImplementedError:
            return False
        except ProviderUnavailableError as error:
            if not is_again:
                self._log.warning(_NOT_NOTICED, _place_name(place), run.reverser.reverse_text(str(error)))
            down.append(place)
        except BaseException as error:  # noqa: BLE001 - a provider of another package can raise anything
            self._warn_of_no_watch(run, place, error)
        return True

    def _plan_again(self, run: JobRun, down: Sequence[Place]) -> None:
        """Have places of one provider subscribed to again, unless the job has ended while the provider was asked."""
        if down and self._is_watched(run):
            at = self._timetable.clock() + _AFTER_FAILURE
            self._timetable.add((run, down[0]), at, lambda: self._begin_again(run, down))

    def _begin_again(self, run: JobRun, down: Sequence[Place]) -> None:
        """Subscribe in a thread of its own: a provider that hangs must not stop the reloads, which are made in this."""
        in_thread(self._subscribe_again, run, down)

    def _subscribe_again(self, run: JobRun, places: Sequence[Place]) -> None:
        """Subscribe to places of one provider after an outage, which can last."""
        down: list[Place] = []
        for place in places:
            if self._is_watched(run) and not self._subscribe(run, place, down, is_again=True):
                self._poll(run, place)
        self._plan_again(run, down)

    def _warn_of_no_watch(self, run: JobRun, place: Place, error: BaseException) -> None:
        is_ours = isinstance(error, ConfigProvidersError)  # another's message can contain a value
        problem = run.reverser.reverse_text(str(error)) if is_ours else type(error).__name__
        self._log.warning("Changes of %s are not noticed: %s", _place_name(place), problem)


def _place_name(place: Place) -> str:
    """Return how logs name a place: a reference without its key."""
    provider, path = map(printable, place)
    return f"${{{provider}:{path}}}" if path else f"${{{provider}}}"


_HOUR_SECONDS: Final = 3600.0
_NEXT_TRY: Final = "next try"
"""The key of a reload that is tried again."""

_DYNAMIC: Final = "the dynamic configuration"
_SECRETS: Final = "the job's secrets"
"""What can have changed, besides the places of values."""

_AFTER_REFUSAL: Final = 900.0
"""Seconds after which a refused reload is tried again: a policy, or rights in a store, can change without a sign."""

_SHORTEST_TTL: Final = 1000
"""Milliseconds between two reads because of a ttl, at least."""

_UNTIL_BEGUN: Final = 5.0
"""Seconds after which a reload is tried again whose job cannot be stopped yet."""


@dataclass(frozen=True, slots=True)
class ReloadLimits:
    """
    How quickly a running job is reloaded, and how often restarted.

    :param settling: seconds in which several changes cause one reload; it begins in the same number of seconds after
    :param per_hour: the most restarts in an hour
    :param look_every: seconds between two looks at the dynamic configuration
    """

    settling: float
    per_hour: int
    look_every: float = 10.0

    @classmethod
    def of_deployment(cls) -> Self:
        """
        Return the limits that the deployment has set.

        :raises ConfigException: a setting is wrong
        """
        return cls(settings.reload_settling(), settings.reloads_per_hour(), settings.follow_interval())


@dataclass(frozen=True, slots=True)
class JobControl:
    """
    The job that is running, as a reload sees it.

    :param stop: stops the job, so that the operator that runs it raises an error
    :param has_begun: returns whether there is a job that can be stopped
    :param require_usable: raises an error if a run could not be submitted, so that no job is stopped for it
    """

    stop: Callable[[], object]
    has_begun: Callable[[], bool] = lambda: True
    require_usable: Callable[[JobRun], object] = lambda run: None


class JobReload(ClosedOnExit):
    """
    Watches what the references of a running job mean, and stops the job when a new one is to be submitted.

    When values have changed, the whole configuration is resolved again, with its types and policies. Only if that
    succeeds, a value differs and all values can be delivered, the job is stopped; otherwise it goes on, and the log
    says why. A job never gets values from before and after.

    :param job: the job that runs
    :param log: the log of the task
    :param timetable: makes the calls
    """

    def __init__(self, job: JobControl, *, log: Any, limits: ReloadLimits, timetable: Timetable | None = None) -> None:
        self._job = job
        self._log = log
        self._limits = limits
        self._timetable = timetable or Timetable("config-reload")
        self._subscriptions = PlaceSubscriptions(
            self._timetable, log=log, note=self._note, poll=self._poll, is_watched=lambda run: self._run is run
        )
        self._scheduler = ReloadScheduler(self._timetable, reload=self._note_end_of_ttl, clock=self._timetable.clock)
        self._lock = threading.Lock()
        self._ending = threading.Lock()  # held while a job is stopped; taken before the other one
        self._stops_in: int | None = None
        self._is_given_up = False
        self._run: JobRun | None = None
        self._content = b""
        self._unsupported: list[Place] = []
        self._refusal = ""
        self._next: JobRun | None = None
        self._changed: set[str] = set()
        self._mark: object = None
        self._restarts: list[float] = []

    def watch(self, run: JobRun, *, is_outdated: bool = False) -> None:
        """
        Watch the references of ``run`` until the next one, or until this is closed.

        :param is_outdated: whether the job was submitted with other values than those of ``run``
        :raises SubmitError: the task was killed
        """
        self.refuse_after_kill()
        with self._lock:
            self._run, self._next, self._changed, self._mark = run, None, set(), run.dynamic_mark
            self._content, self._refusal = run.content, ""  # the run forgets its values when its job ends
            if is_outdated:
                self._content = b""  # which no run has
        self._unsupported = self._subscriptions.subscribe_all(run)
        self._plan(run, run.ttls)
        self._timetable.ensure(run, self._next_look(), self._look_at_mark)
        if is_outdated:
            self._note(run, _SECRETS)

    def next_run(self) -> JobRun | None:
        """
        End watching a job that has ended with an error, and return the run to begin; None if there is none.

        There is one if the job was stopped for it, or if values have changed since it was submitted, which can be why
        it failed: a database refuses its old password before the settling time is over.
        """
        run, next_run = self._end()
        if next_run is None and run is not None and not self._is_given_up:
            next_run = self._run_after_failure(run)
        if next_run is not None and self._is_given_up:
            next_run.close()
            return None
        return next_run

    def _end(self) -> tuple[JobRun | None, JobRun | None]:
        """End watching, and return the run that was watched, and the one for which its job was stopped."""
        with self._ending, self._lock:  # so that nothing is still being stopped when the next one begins
            run, self._run = self._run, None
            next_run, self._next = self._next, None
        self._timetable.clear()
        self._scheduler.cancel(run)
        return run, next_run

    def _run_after_failure(self, run: JobRun) -> JobRun | None:
        """Return a run with other values than ``run``; None if there is none, or the limit is reached."""
        if self._pause() > 0:  # values that are read for nothing can have a price, such as a user of a database
            return None
        try:
            next_run, differs = self._usable(run)
        except Exception:  # noqa: BLE001 - the error of the job is what the reader needs
            return None
        if not differs or not next_run.restarts:
            next_run.close()
            return None
        changes = self._changes(run, next_run)
        self._log.warning("Restart: the job failed after %s changed. It is submitted again.", changes)
        self._restarts.append(self._timetable.clock())
        return next_run

    def give_up(self) -> None:
        """
        Begin no further job, because the task is killed; do nothing if ``stop`` is what kills.

        This takes no lock, since Airflow kills a task in a signal handler.
        """
        if threading.get_ident() != self._stops_in:
            self._is_given_up = True

    def refuse_after_kill(self) -> None:
        """
        Raise an error if the task was killed.

        :raises SubmitError: it was
        """
        if self._is_given_up:
            raise SubmitError("The task was killed while its job was restarted. Nothing was submitted.")

    def close(self) -> None:
        """End watching."""
        self._scheduler.close()
        _, next_run = self._end()
        if next_run is not None:
            next_run.close()

    def _look_at_mark(self) -> float | None:
        """Note that the dynamic configuration was changed or refreshed, and return when to look again."""
        run = self._run
        if run is None:
            return None
        try:
            mark = run.read_dynamic_mark()
        except Exception:  # noqa: BLE001 - whatever it is, the job runs; a reload would say what is wrong
            return self._next_look()
        with self._lock:  # meanwhile, the next run can be watched, which has a mark of its own
            is_other = self._run is run and mark != self._mark
            if is_other:
                self._mark = mark
        if is_other:
            self._note(run, _DYNAMIC)
        return self._next_look()

    def _next_look(self) -> float:
        return self._timetable.between(self._limits.look_every, 1.1 * self._limits.look_every)

    def _note(self, run: JobRun, what: str) -> None:
        """Plan a reload, also if one is under way that can have read the values before this change."""
        settling = self._limits.settling
        self._plan_reload(run, what, self._timetable.between(settling, 2 * settling))

    def _plan_reload(self, run: object, what: str, at: float) -> None:
        """Plan a reload because of ``what``, unless another run is watched meanwhile."""
        with self._lock:
            if self._run is run:
                self._changed.add(what)
                self._timetable.ensure(self, at, self._reload)

    def _poll(self, run: JobRun, place: Place) -> None:
        """Look at the values of ``place`` too when its ttl is over, unless another run is watched meanwhile."""
        with self._lock:
            if self._run is not run:
                return
            self._unsupported = [*self._unsupported, place]
        self._plan(run, run.ttls)

    def _plan(self, run: JobRun, ttls: Mapping[Place, int]) -> None:
        """Plan a look at the values of providers without subscriptions, when their ``ttls`` are over."""
        due = {place: max(ttls[place], _SHORTEST_TTL) for place in self._unsupported if place in ttls}
        self._scheduler.plan(run, due, ReloadAction.RESTART)

    def _note_end_of_ttl(self, run: object) -> None:
        """Have the values of ``run`` read again now, because a ttl is over."""
        self._plan_reload(run, _SECRETS, self._timetable.clock())

    def _reload(self) -> None:
        """Stop the job if it can begin anew with other values."""
        self._timetable.drop(_NEXT_TRY)
        run = self._run
        if run is None:
            return
        if not self._job.has_begun():
            self._try_again(run, after=_UNTIL_BEGUN)
        elif (pause := self._pause()) > 0:
            self._log.warning("A restart waits: this job was restarted %s times in an hour.", self._limits.per_hour)
            self._try_again(run, after=pause)
        elif (next_run := self._resolved_again(run)) is not None:
            self._replace(run, next_run)

    def _resolved_again(self, run: JobRun) -> JobRun | None:
        """Return a run with other values than ``run``; None if there is none now."""
        with self._lock:
            noted = set(self._changed)
        next_run, differs = self._usable_if_any(run)
        if next_run is None or (differs and next_run.restarts):
            return next_run
        if differs:
            self._log.info(
                "No restart: %s changed. The job goes on as it is: config.reload.action is none now.",
                self._changes(run, next_run),
            )
        else:
            with self._lock:
                self._changed -= noted
        self._plan(run, next_run.ttls)
        next_run.close()
        return None

    def _usable_if_any(self, run: JobRun) -> tuple[JobRun | None, bool]:
        """Return the result of ``_usable``; no run if there is none now: the log says why, and it is tried again."""
        try:
            found = self._usable(run)
        except ConfigProvidersError as error:
            is_down = isinstance(error, ProviderUnavailableError)
            self._log_refusal(run.reverser.reverse_text("; ".join(error.problems)))
            self._try_again(run, after=_AFTER_FAILURE if is_down else _AFTER_REFUSAL)
            return None, False
        except Exception as error:  # noqa: BLE001 - of Airflow or of a template, for example; its message can hold a value
            self._log_refusal(type(error).__name__)
            self._try_again(run, after=_AFTER_FAILURE)
            return None, False
        self._refusal = ""
        return found

    def _usable(self, run: JobRun) -> tuple[JobRun, bool]:
        """Return the result of ``_compared``, after making sure that a job can be submitted with the new run."""
        next_run, differs = self._compared(run)
        try:
            if differs and next_run.restarts:
                self._job.require_usable(next_run)
        except BaseException:
            next_run.close()
            raise
        return next_run, differs

    def _compared(self, run: JobRun) -> tuple[JobRun, bool]:
        """
        Return a new run, and whether its values differ from those of ``run``.

        Credentials that are made for each run always differ, such as a database user of Vault. They are found by
        resolving once more, and make a difference only if something has noticed that those of ``run`` have changed.
        """
        next_run = run.again()
        if next_run.content == self._content:
            return next_run, False
        is_other = without_reload_action(next_run.shown) != without_reload_action(run.shown)
        if is_other or self._changed - {_DYNAMIC} or not next_run.restarts:
            return next_run, True
        try:
            another = next_run.again()
        except BaseException:
            next_run.close()
            raise
        made = another.reverser.changed_from(next_run.reverser)
        another.close()
        return next_run, not made or next_run.differs_from(run.reverser, besides=made)

    def _pause(self) -> float:
        now = self._timetable.clock()
        self._restarts = [at for at in self._restarts if now - at < _HOUR_SECONDS]
        if len(self._restarts) < self._limits.per_hour:
            return 0
        return self._restarts[-self._limits.per_hour] + _HOUR_SECONDS - now

    def _log_refusal(self, reason: str) -> None:
        """Log why the job goes on, unless the last reason was the same."""
        if reason != self._refusal:
            self._log.warning("The job goes on as it is, because its new configuration is not usable: %s", reason)
        self._refusal = reason

    def _try_again(self, run: JobRun, *, after: float) -> None:
        """Reload after that many seconds. A change that is noted before then is not delayed."""
        with self._lock:
            if self._run is run:
                self._timetable.add(_NEXT_TRY, self._timetable.clock() + after, self._reload)

    def _replace(self, run: JobRun, next_run: JobRun) -> None:
        """Stop the job, and keep ``next_run`` for its end; try again if it could not be stopped."""
        unused: JobRun | None = next_run
        changes = self._changes(run, next_run)
        with self._ending:
            is_current = self._run is run and not self._is_given_up
            if is_current and (self._next is not None or self._stop(changes)):  # it is stopped only once
                unused, self._next, is_current = self._next, next_run, False
        if unused is not None:
            unused.close()
        if is_current:
            self._try_again(run, after=_AFTER_FAILURE)

    def _stop(self, changes: str) -> bool:
        """Stop the job because of ``changes``, and return whether that succeeded."""
        self._log.info("Restart: %s changed. The job is stopped, and submitted again with the new values.", changes)
        self._stops_in = threading.get_ident()
        try:
            self._job.stop()
        except Exception as error:  # noqa: BLE001 - the job goes on, and the message can contain a value
            self._log.warning(
                "The job could not be stopped to restart it (%s). It goes on as it is.", type(error).__name__
            )
            return False
        finally:
            self._stops_in = None
        self._restarts.append(self._timetable.clock())
        return True

    def _changes(self, run: JobRun, next_run: JobRun) -> str:
        """Return what has changed: of a place, the references whose values differ, if that is known."""
        changed_references = sorted(next_run.reverser.changed_from(run.reverser))
        references = grouped((_place_name((one.provider, one.path)), str(one)) for one in changed_references)
        with self._lock:
            changed = sorted(self._changed)
        return " and ".join(first_of(references.get(what, [what])) for what in changed) or _SECRETS
