"""What a way to sign in to Vault is, and ways that need one secret, given directly or in a file that can change."""

from __future__ import annotations

import errno
import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self
from urllib.parse import quote

from airflow_config_providers.core.named_file import read_named, state_of
from airflow_config_providers.core.sensitive import shown_path
from airflow_config_providers.exceptions import (
    ProviderDefinitionError,
    ProviderLookupError,
    ProviderUnavailableError,
    system_reason,
)
from airflow_config_providers.providers.backend_faults import keep_values_out_of_debug_logs

if TYPE_CHECKING:
    import hvac

LONGEST: Final = 10 * 365 * 24 * 3600
"""The longest duration in seconds; a longer one is shortened to it."""

_MOST_BYTES: Final = 64 * 1024
_TOO_LARGE: Final = "is larger than 64 KiB, so it holds no token"


def seconds(duration: object) -> float:
    """Return a duration of Vault's in seconds, at most ten years; 0 for anything else."""
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not duration > 0:
        return 0.0
    return float(min(duration, LONGEST))


@dataclass(frozen=True, slots=True)
class VaultToken:
    """
    The result of a login.

    :param ttl: seconds from the login; None if it has no end or the end is unknown
    :param is_ours: whether this login created it, so that we renew it and give it back
    """

    token: str = field(repr=False)
    ttl: float | None = None
    is_renewable: bool = False
    is_ours: bool = True


class Login(ABC):
    """Signs in. Hashable; two equal logins have the same identity. Reads token files again at every call."""

    __slots__ = ()
    has_proof: ClassVar[bool] = False
    """Whether ``read`` returns everything that Vault is sent; an identity of a cloud is known only at login."""

    @abstractmethod
    def __call__(self, client: hvac.Client) -> VaultToken:
        """
        Sign in with a client that has no token; the client does not get one either.

        Raises what hvac and requests raise, which ``signing_in`` turns into our errors, or one of ours:

        :raises ProviderDefinitionError: a library is missing
        :raises ProviderUnavailableError: a token file is missing or empty
        :raises ProviderLookupError: a token file cannot be read or holds no token, or Vault's answer has no token
        """

    def version(self) -> object | None:
        """
        Return a mark that changes when the file that holds the token itself changes; costs one ``stat``.

        None if the token comes from a login or from the definition, and while the file is missing: a token that we
        already have then stays valid. A session keeps the mark from before it signed in, and signs in again when it
        sees another mark.
        """
        return None

    def read(self) -> Login:
        """
        Return this login with the current content of its files, so that it reads none of them itself.

        A refused login is tried again when this differs. Raises what ``__call__`` raises about files.
        """
        return self

    def forget(self) -> None:  # noqa: B027 - most keep none
        """Forget secrets that it got from Vault and kept for its next call; called when its session is closed."""

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the files that it reads, which hold secrets."""
        return ()

    @property
    def can_lock_out(self) -> bool:
        """Whether Vault, or a service it asks, counts failures and locks a user out, or counts uses of a secret."""
        return False


def mounted(mount_point: str, *, name: str = "mount_point") -> dict[str, str]:
    """Return hvac's argument for ``mount_point``; nothing for the usual mount."""
    return {name: mount_point} if mount_point else {}


def token_of(answer: object) -> VaultToken:
    """
    Return the token in Vault's answer to a login.

    :param answer: what hvac returns: a dict for status 200, otherwise a response
    :raises ProviderLookupError: there is no token in it
    """
    if getattr(answer, "is_redirect", False):
        raise ProviderLookupError(
            "Vault answered the login with a redirect, which is not followed. Use the address of the server that "
            "answers."
        )
    auth = answer.get("auth") if isinstance(answer, dict) else None
    token = auth.get("client_token") if isinstance(auth, dict) else None
    if not isinstance(auth, dict) or not isinstance(token, str) or not token:
        raise ProviderLookupError(
            "The answer to the login has no token. Check the address. A second factor is not supported."
        )
    return VaultToken(
        token, ttl=seconds(auth.get("lease_duration")) or None, is_renewable=auth.get("renewable") is True
    )


def library(module: str, *, package: str, auth_type: str) -> Any:
    """
    Import ``module``, which only this kind of login needs. Its debug logs are kept free of credentials.

    :param package: what to install for it
    :raises ProviderDefinitionError: it is not installed
    """
    keep_values_out_of_debug_logs()  # no guard of the log knows the values
    try:
        return importlib.import_module(module)
    except ImportError:
        pass
    raise ProviderDefinitionError(
        f"auth_type {auth_type} needs a library that is not installed. Install it: pip install {package}"
    )


@dataclass(frozen=True, slots=True)
class Credential:
    """
    A secret, or the file that holds it.

    :param given: the secret itself
    :param path: the file, which every ``read`` reads again; empty to use ``given``
    """

    given: str = field(default="", repr=False)
    path: str = ""

    def read(self) -> str:
        """
        Return the secret; from a file, without newlines around it.

        :raises ProviderUnavailableError: the file is missing or empty, perhaps because it is still being written
        :raises ProviderLookupError: the file cannot be read, is not UTF-8, or is larger than 64 KiB
        """
        if not self.path:
            return self.given
        text = _text(self.path).strip("\r\n")
        if not text:
            raise ProviderUnavailableError(
                f"The file {shown_path(self.path)} is empty. Perhaps it is still being written."
            )
        return text

    def version(self) -> object | None:
        """Return a mark that changes when the file does; None without a file, and while it is missing."""
        if not self.path:
            return None
        try:
            return state_of(self.path)
        except (OSError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class AuthMethod:
    """
    A method of Vault that takes a credential in one request, as hvac has it.

    :param who: hvac's argument for the role or the user; empty if the credential says who signs in
    :param proof: its argument for the credential
    :param mount: its argument for where the method is mounted
    :param can_lock_out: as for ``Login``
    :param is_line: whether blanks around the credential do not belong to it
    :param is_quoted: whether who signs in is quoted here, because hvac does it for the other methods only
    """

    name: str
    who: str
    proof: str
    mount: str = "mount_point"
    function: str = "login"
    can_lock_out: bool = False
    is_line: bool = False
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class CredentialLogin(Login):
    """
    A login by a secret that proves who signs in, in one request.

    :param who: the role or the user; empty if the secret says it
    :param proof: None for an AppRole without a secret ID
    """

    by: AuthMethod
    who: str
    proof: Credential | None
    mount_point: str = ""
    has_proof: ClassVar[bool] = True

    def __call__(self, client: hvac.Client) -> VaultToken:
        """Sign in."""
        login = getattr(getattr(client.auth, self.by.name), self.by.function)
        place = mounted(self.mount_point, name=self.by.mount)
        return token_of(login(**self._given(), **place, use_token=False))

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.by.name

    @property
    def can_lock_out(self) -> bool:
        """Whether Vault counts failures of this method, or uses of its secret."""
        return self.by.can_lock_out

    def read(self) -> Self:
        """Return a login at the same mount by the secret that the file holds now."""
        proof = self._proof()
        place = self.mount_point or self.method
        return replace(self, proof=None if proof is None else Credential(proof), mount_point=place)

    @property
    def files(self) -> tuple[str, ...]:
        """The file of the proof, if it is in one."""
        return () if self.proof is None or not self.proof.path else (self.proof.path,)

    def _given(self) -> dict[str, str | None]:
        who = quote(self.who) if self.by.is_quoted else self.who
        return {**({self.by.who: who} if self.by.who else {}), self.by.proof: self._proof()}

    def _proof(self) -> str | None:
        proof = None if self.proof is None else self.proof.read()
        return proof.strip() if proof and self.by.is_line else proof


def _text(path: str) -> str:
    try:
        return read_named(path, largest=_MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        problem = ""
    except OSError as error:
        problem = _TOO_LARGE if error.errno == errno.EFBIG else f"cannot be read ({system_reason(error)})"
    except UnicodeDecodeError:
        problem = "is not UTF-8"
    except ValueError:
        problem = "has a name that no file can have"
    if not problem:
        raise ProviderUnavailableError(
            f"There is no file {shown_path(path)} to sign in with. Mount it, or correct the path."
        )
    raise ProviderLookupError(f"The file {shown_path(path)} {problem}. Correct it, or the path.")
