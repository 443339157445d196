"""The ways to sign in to Vault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ProviderLookupError
from airflow_config_providers.providers.vault.credential import Credential

if TYPE_CHECKING:
    import hvac


@dataclass(frozen=True, slots=True)
class VaultToken:
    """
    What a login gave.

    :param ttl: seconds it is good for, counted from the login; None for a token without end or one of unknown end
    :param is_ours: whether we made it, so that we renew it and give it back
    """

    token: str = field(repr=False)
    ttl: float | None = None
    is_renewable: bool = False
    is_ours: bool = True


class Login(Protocol):
    """Signs in. Hashable; two that are equal sign in as the same. Reads token files anew at every call."""

    __slots__ = ()

    def __call__(self, client: hvac.Client) -> VaultToken:
        """
        Sign in with a client that has no token yet; the client stays without one.

        Raises what hvac and requests raise, which ``faults`` turns into our errors, or one of ours:

        :raises ProviderDefinitionError: a library is missing
        :raises ProviderUnavailableError: a token file is not there or empty
        :raises ProviderLookupError: a token file cannot be read or holds no token, or Vault's answer has no token
        """

    def version(self) -> object | None:
        """
        Give a mark that changes when the file changes that holds the token itself; costs one ``stat``.

        None where the token is from a login or is given in the definition, and while the file is not there: then what
        one has stays good. A session keeps the mark of before it signed in, and signs in anew at any other mark.
        """
        return None

    def read(self) -> Login:
        """
        Return this login with what its files hold now, so that it reads none of them itself.

        A login that was refused is tried again when this differs. Raises what ``__call__`` raises of files.
        """
        return self

    @property
    def has_proof(self) -> bool:
        """Whether ``read`` returns all that Vault is sent; clouds say only at a login who signs in."""
        return False

    @property
    def can_lock_out(self) -> bool:
        """Whether Vault, or who it asks, counts failures of it and locks a user out, or counts uses of a secret."""
        return False


@dataclass(frozen=True, slots=True)
class TokenLogin(Login):
    """A token that somebody else made; nothing is asked of Vault, and nothing is given back."""

    credential: Credential

    def __call__(self, client: hvac.Client) -> VaultToken:
        """Return the token."""
        return VaultToken(self._token(), is_ours=False)

    def read(self) -> Login:
        """Return a login by the token that the file holds now."""
        return TokenLogin(Credential(self._token()))

    def version(self) -> object | None:
        """Return the mark of the token file."""
        return self.credential.version()

    def _token(self) -> str:
        token = self.credential.read().strip()
        if not token or not (token.isascii() and token.isprintable()) or " " in token:
            where = f"The file {printable(self.credential.path)}" if self.credential.path else "The token that is given"
            raise ProviderLookupError(
                f"{where} is no token of Vault: it is empty, or has blanks or letters that none has. Correct it."
            )
        return token


@dataclass(frozen=True, slots=True)
class _Method:
    """What hvac calls the parts of a login: the function, who signs in, what proves it, and the mount."""

    who: str
    proof: str
    function: str = "login"
    mount: str = "mount_point"
    quotes: bool = True
    can_lock_out: bool = False


_METHODS: Final[Mapping[str, _Method]] = {
    "approle": _Method("role_id", "secret_id", can_lock_out=True),
    "github": _Method("", "token"),
    "jwt": _Method("role", "jwt", function="jwt_login", mount="path"),
    "kubernetes": _Method("role", "jwt"),
    "ldap": _Method("username", "password", can_lock_out=True),
    "radius": _Method("username", "password", can_lock_out=True),
    "userpass": _Method("username", "password", quotes=False, can_lock_out=True),
}


@dataclass(frozen=True, slots=True)
class CredentialLogin(Login):
    """
    A login by a name and a secret that proves it.

    :param method: approle, github, jwt, kubernetes, ldap, radius or userpass
    :param who: the role or the user; empty for github, whose token says it
    :param proof: secret ID, JWT, password or token; None for an AppRole without secret ID
    :param mount_point: where the method is mounted; empty for its usual place
    """

    method: str
    who: str
    proof: Credential | None
    mount_point: str = ""

    def __call__(self, client: hvac.Client) -> VaultToken:
        """Sign in by one request."""
        names = _METHODS[self.method]
        arguments: dict[str, Any] = {names.proof: self._proof(), **mounted(self.mount_point, name=names.mount)}
        if names.who:
            arguments[names.who] = self.who if names.quotes else quote(self.who)
        function = getattr(getattr(client.auth, self.method), names.function)
        return token_of(function(**arguments, use_token=False))

    def read(self) -> Login:
        """Return a login at the same place by the secret that the file holds now."""
        proof = self._proof()
        place = self.mount_point or self.method
        return replace(self, proof=None if proof is None else Credential(proof), mount_point=place)

    @property
    def has_proof(self) -> bool:
        """Always."""
        return True

    @property
    def can_lock_out(self) -> bool:
        """Return whether the method is one of those."""
        return _METHODS[self.method].can_lock_out

    def _proof(self) -> str | None:
        if self.proof is None:
            return None
        proof = self.proof.read()
        return proof.strip() if _METHODS[self.method].proof == "jwt" else proof


def mounted(mount_point: str, *, name: str = "mount_point") -> dict[str, str]:
    """Give the argument of hvac for ``mount_point``; none for the usual place."""
    return {name: mount_point} if mount_point else {}


def token_of(answer: object) -> VaultToken:
    """
    Take the token out of Vault's answer to a login.

    :param answer: what hvac gives: a dict for status 200, else a response
    :raises ProviderLookupError: there is no token in it
    """
    if getattr(answer, "is_redirect", False):
        raise ProviderLookupError(
            "Vault answered the login with a redirect, which is not followed. Give the address that answers itself."
        )
    auth = answer.get("auth") if isinstance(answer, dict) else None
    token = auth.get("client_token") if isinstance(auth, dict) else None
    if not isinstance(auth, dict) or not isinstance(token, str) or not token:
        raise ProviderLookupError(
            "What answered the login gave no token. Check the address. A second factor is not supported."
        )
    return VaultToken(token, ttl=_seconds(auth.get("lease_duration")), is_renewable=auth.get("renewable") is True)


def _seconds(duration: object) -> float | None:
    return float(duration) if isinstance(duration, int | float) and duration > 0 else None
