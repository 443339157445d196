"""An auth manager that knows DAGs apart: Airflow's simple one gives a role the same right to all of them."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

BOUND = {
    "ann": {"GET": {"flights"}, "PUT": {"flights"}},
    "ben": {"GET": {"flights", "billing"}, "PUT": set()},
    "dan": {"GET": {"flights"}, "PUT": {"flights"}},
    "fay": {},
    "gus": {"GET": {"flights"}, "PUT": set()},
    "eve": {"GET": {"a%2Eb", "flight"}, "PUT": {"a%2Eb", "flight"}},
}
"""What these users may do to which DAGs; the others may do what their roles say."""


NO_RUNS = {"gus"}
"""The users who may not read runs and task instances of the DAGs that they may read."""

EDITED = {
    "ann": {"config_providers.dynamic.dag.flights"},
    "eve": {f"config_providers.dynamic.{name}" for name in ("default", "dag.a%2Eb", "dag.flight")},
    "fay": {"config_providers.dynamic.dag.flights"},
}
"""The variables that they may edit."""


class PerDagAuthManager(SimpleAuthManager):
    """The simple auth manager, and a few users that are bound to DAGs. They have no right to anything else."""

    def is_authorized_dag(self, *, method: Any, user: Any, access_entity: Any = None, details: Any = None) -> bool:
        if access_entity is not None and user.username in NO_RUNS:
            return False
        if user.username in BOUND:
            return details is not None and details.id in BOUND[user.username].get(method, ())
        return super().is_authorized_dag(method=method, user=user, access_entity=access_entity, details=details)

    def is_authorized_variable(self, *, method: Any, user: Any, details: Any = None) -> bool:
        if user.username in BOUND:
            return details is not None and details.key in EDITED.get(user.username, ())
        return super().is_authorized_variable(method=method, user=user, details=details)

    def is_authorized_configuration(self, *, method: Any, user: Any, details: Any = None) -> bool:
        if user.username in BOUND:
            return details is not None and details.section == (
                "config_providers" if user.username == "fay" else "other"
            )
        return super().is_authorized_configuration(method=method, user=user, details=details)
