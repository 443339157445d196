"""Our errors for a login that failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderLookupError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.vault import faults
from airflow_config_providers.providers.vault.logins.attempts import SECONDS_AFTER_A_REFUSAL

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.logins.base import Login

_T = TypeVar("_T")

LOGIN_REFUSALS: Final = frozenset({400, 401, 403})
"""Statuses with which Vault refuses a login, whatever else its answer holds."""
_NO_LOGIN: Final = "missing client token"
"""What older versions of Vault say, with status 400, about a path where no one signs in; newer ones say 403."""
_USUAL_PLACES: Final[Mapping[str, str]] = {"aws_iam": "aws"}
"""Method -> where it is usually mounted, if that has another name."""


def translated_login(
    call: Callable[[], _T],
    *,
    login: Login,
    where: str,
    refusal: Callable[[], int | None],
    retry_after: Callable[[], float | None],
) -> _T:
    """
    Return the result of ``call``, which signs in.

    :param refusal: returns the status with which Vault refused the login, which hvac does not show if it cannot
        read the rest of the answer; None if Vault did not refuse it
    :param retry_after: returns the seconds before which Vault wanted no further request when it answered
    :raises AccessDeniedError: it was refused
    :raises ConfigProvidersError: in place of any other exception, without cause and context
    """
    try:
        return call()
    except ConfigProvidersError as error:
        problem = error
    except Exception as error:  # noqa: BLE001 - as for any request, and what the libraries of clouds raise
        if (status := refusal()) is not None:
            problem = _refused(error, status, login, where)
        else:
            problem = _of_login(error, login, where, retry_after()) or faults.of_library(error, where)
    problem.__cause__ = problem.__context__ = None
    raise problem


def unanswered_login(login: Login, where: str, pause: float) -> ProviderUnavailableError:
    """Return the error for a login that is not sent for ``pause`` seconds: the last answer to it was lost."""
    shown = f"{pause:g} seconds" if pause <= 60 else f"{pause / 60:g} minutes"
    return ProviderUnavailableError(
        f"{where} did not answer the login {_named(login)}. If it refuses this login, a few more attempts lock the "
        f"user out, so this process waits for up to {shown} before it sends it again. Check that Vault answers in "
        f"time, or raise the timeout."
    )


def _of_login(error: Exception, login: Login, where: str, retry_after: float | None) -> ConfigProvidersError | None:
    import hvac.exceptions as of_hvac  # noqa: PLC0415 - optional, and slow to import

    statuses: dict[type[Exception], int] = {
        of_hvac.InvalidPath: 404,
        of_hvac.RateLimitExceeded: 429,
        of_hvac.InternalServerError: 500,
        of_hvac.VaultNotInitialized: 501,
        of_hvac.BadGateway: 502,
        of_hvac.VaultDown: 503,
    }
    status = statuses.get(type(error))
    if status == 404:
        return ProviderLookupError(f"{where} knows no login {_named(login)} (status 404). {_unmounted(login)}")
    if status is not None:
        return _of_status(status, where, retry_after)
    is_odd = isinstance(error, of_hvac.VaultError)  # hvac hides the number of a status that it does not know
    return ProviderUnavailableError(f"{where} did not answer the login. Try again later.") if is_odd else None


def _refused(error: Exception, status: int, login: Login, where: str) -> AccessDeniedError:
    """Return the error for a refusal; if Vault refused the path and not the credentials, it names the mount."""
    is_of_login = status == 400 and _NO_LOGIN not in (getattr(error, "errors", None) or ())
    check = "Check the role and its credentials." + ("" if is_of_login else f" {_unmounted(login)}")
    return AccessDeniedError(
        f"{where} refused the login {_named(login)} (status {status}). {check} To avoid locking the user "
        f"out, this process does not try it again for {SECONDS_AFTER_A_REFUSAL / 60:g} minutes."
    )


def _of_status(status: int, where: str, retry_after: float | None) -> ConfigProvidersError:
    try:
        faults.check_server(status, where=where, retry_after=retry_after)
        faults.check_status(status, where=where)
    except ProviderLookupError as error:
        return error
    return ProviderLookupError(f"{where} answered with status {status}.")


def _named(login: Login) -> str:
    method, mount = _method_and_mount(login)
    return f"by {method} at '{printable(mount)}'" if mount else f"by {method}"


def _unmounted(login: Login) -> str:
    method, mount = _method_and_mount(login)
    return (
        f"Perhaps nothing is mounted at 'auth/{printable(mount or _USUAL_PLACES.get(method, method))}': set "
        f"auth_mount_point to a path that 'vault auth list' shows, without 'auth/', and auth_namespace to its "
        f"namespace."
    )


def _method_and_mount(login: Login) -> tuple[str, str]:
    method = getattr(login, "method", "") or type(login).__name__.removesuffix("Login").lower()
    return method, getattr(login, "mount_point", "")
