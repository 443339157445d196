"""Takes back changes that are stored but could not take effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.dynamic.attempts import Attempts
from airflow_config_providers.dynamic.change import PlannedChange
from airflow_config_providers.dynamic.document import name_of
from airflow_config_providers.dynamic.snapshot import Snapshot
from airflow_config_providers.dynamic.store import ConfigStore
from airflow_config_providers.dynamic.writing import Author, Writer
from airflow_config_providers.exceptions import ConfigProvidersError

EVENT: Final = "take_back"


def take_back(snapshot: Snapshot, attempts: Attempts, author: Author, plans: Sequence[PlannedChange]) -> list[str]:
    """
    Restore what resources had before ``plans``, with another change. Changes that others made since are kept.

    Policies do not check this, since it restores what there was.

    :param snapshot: the documents from which the plans were made
    :returns: a sentence about the result for each resource
    """
    written = {plan.resource: snapshot.document(plan.resource).version + 1 for plan in plans}
    try:
        return attempts.until_done(partial(_attempt, plans, written, author), {name_of(one) for one in written})
    except Exception as error:  # noqa: BLE001 - after any error, the result must be reported
        reason = " ".join(error.problems) if isinstance(error, ConfigProvidersError) else type(error).__name__
    return [
        f"The change of {resource} could not be taken back ({reason}): version {version} is perhaps still stored, but "
        f"not in effect. Describe {resource}, and roll the change back."
        for resource, version in written.items()
    ]


def _attempt(
    plans: Sequence[PlannedChange], written: Mapping[ConfigResource, int], author: Author, store: ConfigStore
) -> list[str] | None:
    """Take back the plans once; return None if others wrote meanwhile."""
    now = Snapshot.read(store, written, histories=True)
    is_ours = {plan.resource: now.config(plan.resource).version == written[plan.resource] for plan in plans}
    ours = [plan for plan in plans if is_ours[plan.resource]]
    back = [PlannedChange(plan.resource, now.config(plan.resource), plan.before.values) for plan in ours]
    if back and not Writer(store, author).write(now, back, event=EVENT):
        return None
    done = [_taken_back(plan.resource, now) for plan in ours]
    return [*done, *(_left(plan.resource, now) for plan in plans if not is_ours[plan.resource])]


def _taken_back(resource: ConfigResource, now: Snapshot) -> str:
    version = now.document(resource).version + 1
    return f"The change of {resource} was taken back: version {version} has the previous configuration."


def _left(resource: ConfigResource, now: Snapshot) -> str:
    version = now.config(resource).version
    return (
        f"Others changed {resource} meanwhile, so its change was not taken back: version {version} is stored, but the "
        f"previous configuration stays in effect. Describe {resource}, and decide again."
    )
