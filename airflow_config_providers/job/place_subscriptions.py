"""The subscriptions of a running job to the places of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from typing import Any, Final

from airflow_config_providers.core.concurrency.timetable import Timetable
from airflow_config_providers.core.concurrency.workers import in_thread
from airflow_config_providers.core.lookup import Place
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigProvidersError, ProviderUnavailableError
from airflow_config_providers.job.run import JobRun

AFTER_FAILURE: Final = 60.0
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
            self._log.warning(_NOT_NOTICED, place_name(place), f"no answer in {_PATIENCE:g} seconds")
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
            run.subscribe(place, lambda: self._note(run, place_name(place)))
        except NotImplementedError:
            return False
        except ProviderUnavailableError as error:
            if not is_again:
                self._log.warning(_NOT_NOTICED, place_name(place), run.reverser.reverse_text(str(error)))
            down.append(place)
        except BaseException as error:  # noqa: BLE001 - a provider of another package can raise anything
            self._warn_of_no_watch(run, place, error)
        return True

    def _plan_again(self, run: JobRun, down: Sequence[Place]) -> None:
        """Have places of one provider subscribed to again, unless the job has ended while the provider was asked."""
        if down and self._is_watched(run):
            at = self._timetable.clock() + AFTER_FAILURE
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
        self._log.warning("Changes of %s are not noticed: %s", place_name(place), problem)


def place_name(place: Place) -> str:
    """Return how logs name a place: a reference without its key."""
    provider, path = map(printable, place)
    return f"${{{provider}:{path}}}" if path else f"${{{provider}}}"
