"""What a store of objects answers in place of an object, as the errors of libraries have it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_CODE: Final = re.compile(r"[A-Za-z0-9.]{1,60}")
_STATUSES: Final = ("status_code", "status", "code")
_REFUSING: Final = re.compile(r"[45][0-9]{2}")
_PASSING: Final = frozenset({408, 429})
_GCSFS: Final = ((OSError, "Forbidden: ", 403), (ValueError, "Bad Request: ", 400))
"""The errors of gcsfs whose status is only in the beginning of their message."""
_OF_LOGINS: Final = frozenset(
    {
        "azure.core.exceptions.ClientAuthenticationError",
        "botocore.exceptions.NoCredentialsError",
        "botocore.exceptions.PartialCredentialsError",
        "botocore.exceptions.SSOTokenLoadError",
        "botocore.exceptions.TokenRetrievalError",
        "botocore.exceptions.UnauthorizedSSOTokenError",
        "google.auth.exceptions.DefaultCredentialsError",
        "google.auth.exceptions.RefreshError",
    }
)
"""The errors of logins, which carry no status: credentials are missing, or are refused."""
_UNAUTHENTICATED: Final = 401


class RefusedError(Exception):
    """
    A store refused a request.

    :param code: what it calls the reason, such as ``AccessDenied``; shown only if it is a code
    :param status: the status of HTTP; shown if there is no code
    :param is_login: whether the login was refused, and not this request
    """

    def __init__(self, code: str, status: int = 403, *, is_login: bool = False) -> None:
        self.code = code if _CODE.fullmatch(code) else str(status or "unknown")
        self.is_away = is_login or status >= 500 or status in _PASSING
        """Whether the store would refuse any request now."""
        super().__init__(self.code)


def refusal_in(error: Exception) -> RefusedError | None:
    """Return what a store answered, if ``error`` has it; None if there was perhaps no answer."""
    if isinstance(error, RefusedError):
        return error
    status = next(_statuses(error), None)
    if status is not None:
        return RefusedError(_code(error), status)
    if _is_of_login(error):
        return RefusedError(type(error).__name__, _UNAUTHENTICATED, is_login=True)
    return None


def _is_of_login(error: Exception) -> bool:
    """Return whether a library could not sign in; it may not be imported for that. Google's can be an outage."""
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}
    return not names.isdisjoint(_OF_LOGINS) and not getattr(error, "retryable", False)


def _statuses(error: Exception) -> Iterator[int]:
    for holder in (error, getattr(error, "response", None)):
        found = (getattr(holder, name, None) for name in _STATUSES)
        yield from (int(str(one)) for one in found if _is_refusing(one))
    for kind, beginning, status in _GCSFS:
        if type(error) is kind and str(error).startswith(beginning):
            yield status


def _is_refusing(found: object) -> bool:
    return isinstance(found, int | str) and _REFUSING.fullmatch(str(found)) is not None


def _code(error: Exception) -> str:
    """Return what Azure calls the reason, such as ``BlobArchived``; empty for libraries that have only a status."""
    found = getattr(error, "error_code", None) or ""
    return str(getattr(found, "value", found))
