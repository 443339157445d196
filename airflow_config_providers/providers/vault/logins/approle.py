"""
Sign in to Vault as an AppRole (auth_type ``approle``), and send its secret ID to a job where others can read it.

A secret ID is sent wrapped: it can be unwrapped once, and only for a short time. Anyone who unwraps it first leaves the
rightful owner with a refusal, so theft is noticed; it is not prevented. The job keeps the secret ID in memory to sign
in with it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import AccessDeniedError, ProviderLookupError
from airflow_config_providers.providers.vault import faults
from airflow_config_providers.providers.vault.logins.login import (
    AuthMethod,
    Credential,
    CredentialLogin,
    Login,
    VaultToken,
)
from airflow_config_providers.providers.vault.paths import quoted

if TYPE_CHECKING:
    import hvac

    from airflow_config_providers.providers.vault.session import Session
    from airflow_config_providers.providers.vault.settings import Options

APPROLE: Final = AuthMethod("approle", "role_id", "secret_id", can_lock_out=True)
"""A role, and its secret ID, if it has one; Vault can count failures, and uses of the secret ID."""

_LOOKUP: Final = "/v1/sys/wrapping/lookup"
_UNWRAP: Final = "/v1/sys/wrapping/unwrap"


class UnwrappedSecretId:
    """
    A secret ID that was unwrapped, for the next logins of this process and of the children that it forks.

    Its copies and pickles are empty, and it is not in its ``repr``.

    :ivar text: the secret ID; empty before it is unwrapped, and after the session is closed
    """

    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text = ""

    def __repr__(self) -> str:
        return "UnwrappedSecretId()"

    def __reduce__(self) -> tuple[type[UnwrappedSecretId], tuple[()]]:
        return UnwrappedSecretId, ()


@dataclass(frozen=True, slots=True)
class WrappedSecretIdLogin(Login):
    """
    A login as an AppRole by a wrapped secret ID, which can be unwrapped once; later logins use it as it is.

    :param mount_point: where the method is mounted; empty for ``approle``
    :param unwrapped: the secret ID, which all logins from ``read`` share
    """

    role_id: str
    wrapping: Credential
    mount_point: str = ""
    unwrapped: UnwrappedSecretId = field(default_factory=UnwrappedSecretId, repr=False, compare=False)
    method: ClassVar[str] = APPROLE.name
    has_proof: ClassVar[bool] = True

    def __call__(self, client: hvac.Client) -> VaultToken:
        """Sign in, the first time after unwrapping the secret ID."""
        if self.unwrapped.text:
            return self._sign_in_again(client)
        self.unwrapped.text = self._unwrap(client)
        return self._sign_in(client)

    def forget(self) -> None:
        """Forget the secret ID."""
        self.unwrapped.text = ""

    def read(self) -> Login:
        """Return a login at the same mount by the wrapping token that the file holds now."""
        return WrappedSecretIdLogin(
            self.role_id, Credential(self._token()), self.mount_point or APPROLE.name, self.unwrapped
        )

    @property
    def can_lock_out(self) -> bool:
        """Whether Vault counts uses of the token: it can be unwrapped only once."""
        return True

    def _token(self) -> str:
        return self.wrapping.read().strip()

    def _unwrap(self, client: hvac.Client) -> str:
        """Check where the secret ID was created, and unwrap it."""
        token = self._token()
        made = _post(client, _LOOKUP, {"token": token}).get("creation_path")
        mount = self.mount_point or APPROLE.name
        if not re.fullmatch(rf"auth/{re.escape(mount)}/role/[^/]+/secret-id", str(made)):
            raise AccessDeniedError(
                "The wrapped token does not hold a secret ID of this AppRole: someone put another token in its place. "
                "Find out who can change the configuration of the job on its way."
            )
        return str(_post(client, _UNWRAP, {}, token=token).get("secret_id"))

    def _sign_in(self, client: hvac.Client) -> VaultToken:
        return CredentialLogin(APPROLE, self.role_id, Credential(self.unwrapped.text), self.mount_point)(client)

    def _sign_in_again(self, client: hvac.Client) -> VaultToken:
        """
        Sign in with the secret ID that an earlier login unwrapped.

        :raises AccessDeniedError: it is no longer valid
        """
        import hvac.exceptions  # noqa: PLC0415 - optional, and slow to import

        with suppress(hvac.exceptions.InvalidRequest, hvac.exceptions.Forbidden):
            return self._sign_in(client)
        raise AccessDeniedError(
            "Vault refused another login with the secret ID that was unwrapped before: it has ended, was used too "
            "often, or was destroyed. If a job runs longer than its login, raise secret_id_ttl and secret_id_num_uses "
            "of the AppRole, or its token_max_ttl."
        )


def read(options: Options) -> Login:
    """Return the login that the options describe."""
    role_id, mount_point = options.needed("role_id", by="auth_type approle"), options.segments("auth_mount_point")
    if options.has("wrapped_secret_id"):
        return WrappedSecretIdLogin(role_id, Credential(options.secret("wrapped_secret_id")), mount_point)
    has_secret = options.has("secret_id") or options.has("secret_id_path")
    return CredentialLogin(APPROLE, role_id, options.credential("secret_id") if has_secret else None, mount_point)


def wrapped_secret_id(session: Session, role: str, *, mount_point: str, seconds: int, login_seconds: int) -> str:
    """
    Return a new, wrapped secret ID of ``role``.

    :param seconds: for which it can be unwrapped
    :param login_seconds: for which it is valid; 0 for as long as the role says
    :raises AccessDeniedError: our token may not do this
    :raises ProviderLookupError: there is no such role, or Vault cannot be asked
    """
    mount = mount_point or APPROLE.name
    path = f"auth/{quoted(tuple(mount.split('/')))}/role/{quoted((role,))}/secret-id"
    body = {"ttl": f"{login_seconds}s"} if login_seconds else {}
    token = session.token().text
    answer = session.transport.post(path, body, token=token, wrap_seconds=seconds)
    faults.check_origin(answer, where=session.where)
    found = answer.body.get("wrap_info")
    if isinstance(found, Mapping) and isinstance(found.get("token"), str):
        return str(found["token"])
    if answer.is_denied:
        raise AccessDeniedError(
            f"{session.where} does not let us create a secret ID of the role '{printable(role)}' ({answer.shown}). "
            f"Grant our policy the capability update on auth/{printable(mount)}/role/{printable(role)}/secret-id."
        )
    too_long = f", and that its secret_id_ttl is not shorter than {login_seconds} seconds" if login_seconds else ""
    raise ProviderLookupError(
        f"{session.where} returned no secret ID of the role '{printable(role)}' ({answer.shown}). Check its "
        f"name{too_long}."
    )


def _post(client: hvac.Client, path: str, body: Mapping[str, str], *, token: str = "") -> Mapping[str, Any]:
    """
    Post, and return the data of the answer.

    :raises AccessDeniedError: the wrapping token is not valid, or no longer
    """
    import hvac.exceptions  # noqa: PLC0415 - optional, and slow to import

    try:
        answer = client.adapter.post(path, json=dict(body), headers={"X-Vault-Token": token} if token else {})
    except (hvac.exceptions.InvalidRequest, hvac.exceptions.Forbidden):
        answer = None
    data = answer.get("data") if isinstance(answer, dict) else None
    if isinstance(data, Mapping):
        return data
    raise AccessDeniedError(
        "The wrapped secret ID was already used, or has expired. If no other attempt or process of this job used it, "
        "someone intercepted it and now has the secret ID: destroy the role's secret IDs in Vault, and check its audit "
        "log."
    )
