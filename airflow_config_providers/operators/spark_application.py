"""A SparkApplication of the Apache Spark Kubernetes Operator, from its creation to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from kubernetes.client.exceptions import ApiException
from tenacity import retry, retry_if_exception, stop_after_delay, wait_random_exponential
from urllib3.exceptions import HTTPError

from airflow_config_providers.airflow_compat import AirflowException
from airflow_config_providers.core.text import counted, printable
from airflow_config_providers.exceptions import SubmitError

API_GROUP: Final = "spark.apache.org"
KIND: Final = "SparkApplication"

_PLURAL: Final = "sparkapplications"
_ENDED: Final = frozenset({"ResourceReleased", "TerminatedWithoutReleaseResources"})
_SUCCEEDED: Final = "Succeeded"

_SECONDS_TO_END: Final = 300.0
"""How long a driver can take to end after its application was deleted; Kubernetes' default is 30."""

_SECONDS_BETWEEN_LOOKS: Final = 1.0
"""How long to sleep before the API server is asked again."""

_SECONDS_OF_RETRIES: Final = 600.0
"""How long a request is repeated that the API server could not answer."""


def wait_until_gone(is_gone: Callable[[], bool], *, what: str) -> None:
    """
    Wait for the end of a driver whose application was deleted.

    :raises SubmitError: it takes too long
    """
    end = time.monotonic() + _SECONDS_TO_END
    while not is_gone():
        if time.monotonic() > end:
            raise SubmitError(f"The {what} has not ended after {_SECONDS_TO_END:g} seconds.")
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _could_not_answer(error: BaseException) -> bool:
    if isinstance(error, ApiException):
        return error.status == 429 or (error.status or 0) >= 500
    return isinstance(error, HTTPError)


_patiently = retry(
    retry=retry_if_exception(_could_not_answer),
    stop=stop_after_delay(_SECONDS_OF_RETRIES),
    wait=wait_random_exponential(max=10),
    reraise=True,
)


@dataclass(frozen=True, slots=True)
class ApplicationState:
    """
    The state of an application.

    :param summary: its name; of an application that has ended, the last one before its resources were released
    :param message: what the operator says about it
    :param has_ended: whether the operator starts no other attempt
    """

    summary: str
    message: str
    has_ended: bool

    @classmethod
    def of(cls, resource: Mapping[str, Any]) -> Self:
        """Return the state in ``resource``; a new one has none yet."""
        status = resource.get("status") or {}
        current, history = status.get("currentState") or {}, status.get("stateTransitionHistory") or {}
        has_ended = _summary(current) in _ENDED
        before = [history[number] for number in sorted(history, key=int) if _summary(history[number]) not in _ENDED]
        state = before[-1] if has_ended and before else current
        return cls(_summary(state), state.get("message") or current.get("message") or "", has_ended)

    @property
    def has_succeeded(self) -> bool:
        """Whether the last attempt has ended well."""
        return self.has_ended and self.summary == _SUCCEEDED


@dataclass(frozen=True, slots=True)
class SparkApplication:
    """
    An application on Kubernetes. ``SparkKubernetesOperator`` uses it in place of its own launcher.

    :param objects: the client of custom objects
    :param core: the client of the core API
    :param resource: the resource with values, as it is created
    """

    objects: Any
    core: Any
    resource: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the resource."""
        return str(self.resource["metadata"]["name"])

    def create(self) -> None:
        """Create the resource once, also if the answer to a request is lost."""
        try:
            self._post()
        except (ApiException, HTTPError) as error:
            if not _could_not_answer(error):
                raise
            self._create_unless_created()

    def follow(self, follow_driver: Callable[[Any], None], *, startup_timeout: float) -> None:
        """
        Follow the application to its end.

        :param follow_driver: called with the pod of each attempt's driver that has begun
        :param startup_timeout: seconds until the first driver must have begun
        :raises AirflowException: the application has failed, was deleted, or has not begun in time
        """
        followed: set[str] = set()
        too_late = time.monotonic() + startup_timeout
        while True:
            state, drivers = self._state(), self._drivers()
            new = [one for one in drivers if one.status.phase != "Pending" and one.metadata.name not in followed]
            for pod in new:
                followed.add(pod.metadata.name)
                follow_driver(pod)
            if state.has_ended:
                break
            if not followed and time.monotonic() > too_late:
                raise AirflowException(
                    f"No driver of {self} has begun in {counted(startup_timeout, 'second')}. {_shown(state)}"
                )
            if not new:
                time.sleep(_SECONDS_BETWEEN_LOOKS)
        if not state.has_succeeded:
            raise AirflowException(f"{self} has failed. {_shown(state)}")

    def delete_spark_job(self, spark_job_name: str | None = None) -> None:
        """Delete the application, and so its pods; the stock operator passes a name made from the driver's."""
        del spark_job_name
        self._delete()

    def is_gone(self) -> bool:
        """Return whether there is neither the application nor a driver of it."""
        return self._found() is None and not self._drivers()

    def taken_up(self, labels: Mapping[str, str], *, with_ended: bool) -> Self | None:
        """
        Return the application of an earlier try that does the same as this one; None if there is none.

        Others of the same task are deleted. This waits for the end of their drivers.

        :param labels: the labels of the applications of the task
        :param with_ended: whether one that has ended is the task's too; otherwise it belongs to a run before this one
        """
        found = None
        for item in self._labelled(labels):
            other, state = replace(self, resource=item), ApplicationState.of(item)
            if state.has_ended and not with_ended:
                continue
            if found is None and self._is_like(item) and (state.has_succeeded or not state.has_ended):
                found = other
            else:
                other._delete()
                wait_until_gone(other.is_gone, what=str(other))
        return found

    def __str__(self) -> str:
        return f"{KIND} {printable(self.name)}"

    @property
    def _place(self) -> dict[str, str]:
        group, _, version = str(self.resource["apiVersion"]).partition("/")
        namespace = self.resource["metadata"]["namespace"]
        return {"group": group, "version": version, "namespace": namespace, "plural": _PLURAL}

    def _state(self) -> ApplicationState:
        found = self._found()
        if found is None or found["metadata"].get("deletionTimestamp"):
            raise AirflowException(
                f"{self} was deleted before its end was seen. If no person deleted it, its "
                f"applicationTolerations.ttlAfterStopMillis is too short. Remove it: the task deletes the application."
            )
        return ApplicationState.of(found)

    def _is_like(self, item: Mapping[str, Any]) -> bool:
        """Return whether ``item`` runs, and was created with what this one has; a server adds defaults."""
        return not item["metadata"].get("deletionTimestamp") and _contains(item["spec"], self.resource["spec"])

    @_patiently
    def _create_unless_created(self) -> None:
        found = self._found()
        if found is None or not (self._is_like(found) and _contains(found["metadata"], self.resource["metadata"])):
            self._post()

    def _post(self) -> None:
        """Create the resource; the API server refuses fields that it does not know, which it would drop otherwise."""
        self.objects.create_namespaced_custom_object(**self._place, body=self.resource, field_validation="Strict")

    @_patiently
    def _found(self) -> Any:
        try:
            return self.objects.get_namespaced_custom_object(**self._place, name=self.name)
        except ApiException as error:
            if error.status != 404:
                raise
        return None

    @_patiently
    def _labelled(self, labels: Mapping[str, str]) -> list[Mapping[str, Any]]:
        selector = ",".join(f"{key}={text}" for key, text in labels.items())
        found = self.objects.list_namespaced_custom_object(**self._place, label_selector=selector)
        return list(found["items"])

    @_patiently
    def _drivers(self) -> list[Any]:
        """Return the pods of the drivers; those of earlier attempts can still be there."""
        selector = f"spark.operator/spark-app-name={self.name},spark-role=driver"
        namespace = self.resource["metadata"]["namespace"]
        return list(self.core.list_namespaced_pod(namespace, label_selector=selector).items)

    @_patiently
    def _delete(self) -> None:
        try:
            self.objects.delete_namespaced_custom_object(**self._place, name=self.name)
        except ApiException as error:
            if error.status != 404:
                raise


def _summary(state: Mapping[str, Any]) -> str:
    return str(state.get("currentStateSummary") or "Submitted")


def _shown(state: ApplicationState) -> str:
    return f"Its state is {printable(state.summary)}: {printable(state.message) or 'no message'}"


def _contains(whole: Any, part: Any) -> bool:
    """Return whether ``whole`` is ``part``, or a mapping that has more keys."""
    if isinstance(whole, Mapping) and isinstance(part, Mapping):
        return all(key in whole and _contains(whole[key], value) for key, value in part.items())
    return bool(whole == part)
