"""What of Airflow's API server the REST interface leans on."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from airflow.api_fastapi.app import RESERVED_URL_PREFIXES, get_auth_manager
from airflow.api_fastapi.auth.managers.base_auth_manager import COOKIE_NAME_JWT_TOKEN, BaseAuthManager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import ConfigurationDetails, DagDetails, VariableDetails
from airflow.api_fastapi.core_api import security
from airflow.plugins_manager import AirflowPlugin
from fastapi import HTTPException
from fastapi.params import Depends
from jwt import InvalidTokenError

from airflow_config_providers.plugins.config_providers import PREFIX


def test_a_right_to_a_dag_is_that_of_the_dag_in_the_path():
    """Before that of the query; and for the user, whom Airflow finds by token or cookie."""
    inner = security.requires_access_dag("GET")

    assert set(inspect.signature(inner).parameters) == {"request", "user"}
    source = inspect.getsource(security.requires_access_dag)
    assert 'request.path_params.get("dag_id") or request.query_params.get("dag_id")' in source
    (depends,) = [one for one in security.GetUserDep.__metadata__ if isinstance(one, Depends)]
    assert depends.dependency is security.get_user
    assert COOKIE_NAME_JWT_TOKEN == "_token"


def test_a_right_that_is_missing_is_told_by_one_word():
    """It tells a missing right from a token that is none: Airflow answers both with 403."""
    with pytest.raises(HTTPException) as caught:
        security._requires_access(is_authorized_callback=lambda: False)

    assert (caught.value.status_code, caught.value.detail) == (403, "Forbidden")
    assert InvalidTokenError.__name__ in inspect.getsource(security)


def test_nobody_is_not_authenticated():
    resolve = getattr(security, "resolve_user_from_token")  # noqa: B009 - a name to be pinned
    with pytest.raises(HTTPException) as caught:
        asyncio.run(resolve(None))

    assert (caught.value.status_code, caught.value.detail) == (401, "Not authenticated")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("is_authorized_dag", {"method", "user", "access_entity", "details"}),
        ("is_authorized_configuration", {"method", "user", "details"}),
        ("is_authorized_variable", {"method", "user", "details"}),
        ("get_authorized_dag_ids", {"user", "method", "session"}),
    ],
)
def test_an_auth_manager_is_asked_by_these_names(name: str, parameters: set[str]):
    assert set(inspect.signature(getattr(BaseAuthManager, name)).parameters) - {"self"} == parameters


def test_what_it_is_asked_about_is_named_so():
    assert ConfigurationDetails(section="s").section == "s"
    assert VariableDetails(key="k").key == "k"
    assert DagDetails(id="d").id == "d"
    assert callable(get_auth_manager)
    assert callable(BaseUser.get_name)


def test_the_prefix_is_one_that_a_plugin_may_have():
    assert not any(PREFIX.startswith(prefix) for prefix in RESERVED_URL_PREFIXES)
    assert AirflowPlugin.fastapi_apps == []
