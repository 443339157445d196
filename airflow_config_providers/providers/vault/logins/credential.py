"""The secret that a login needs, given directly or in a file that may change, and logins by one such secret."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Self

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.providers.vault.logins.base import Login, VaultToken, token_of

if TYPE_CHECKING:
    import hvac

    from airflow_config_providers.providers.vault.settings import Options

_MOST_BYTES: Final = 64 * 1024


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
                f"The file {printable(self.path)} is empty. Perhaps it is still being written."
            )
        return text

    def version(self) -> object | None:
        """Return a mark that changes when the file does; None without a file, and while it is missing."""
        if not self.path:
            return None
        try:
            status = Path(self.path).stat()
        except (OSError, ValueError):
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


@dataclass(frozen=True, slots=True)
class CredentialLogin(Login):
    """
    A login by a secret that proves who signs in, in one request.

    :param who: the role or the user; empty if the secret says it
    :param proof: None for an AppRole without a secret ID
    :param mount_point: where the method is mounted; empty for its usual mount
    """

    who: str
    proof: Credential | None
    mount_point: str = ""
    method: ClassVar[str]

    def __call__(self, client: hvac.Client) -> VaultToken:
        """Sign in."""
        return token_of(self.answer(client, self._proof()))

    @abstractmethod
    def answer(self, client: hvac.Client, proof: str | None) -> object:
        """Return what Vault answers to the login."""

    def read(self) -> Self:
        """Return a login at the same mount by the secret that the file holds now."""
        proof = self._proof()
        place = self.mount_point or self.method
        return replace(self, proof=None if proof is None else Credential(proof), mount_point=place)

    @property
    def has_proof(self) -> bool:
        """Always."""
        return True

    def _proof(self) -> str | None:
        return None if self.proof is None else self.proof.read()


def read_credential(options: Options, name: str) -> Credential:
    """Return the credential in the file that ``<name>_path`` names, or else in ``name``."""
    path = options.text(f"{name}_path")
    return Credential(path=path) if path else Credential(options.secret(name))


def needed_credential(options: Options, name: str, *, by: str) -> Credential:
    """Return a credential that is required; if it is missing, that is a problem of the options."""
    if not options.has(name) and not options.has(f"{name}_path"):
        options.miss(f"{by} needs {name}_path or {name}. Add one.")
    return read_credential(options, name)


def _text(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) <= _MOST_BYTES:
            return data.decode("utf-8")
        problem = "is larger than 64 KiB, so it holds no token"
    except FileNotFoundError:
        problem = ""
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    except UnicodeDecodeError:
        problem = "is not UTF-8"
    except ValueError:
        problem = "has a name that no file can have"
    if not problem:
        raise ProviderUnavailableError(
            f"There is no file {printable(path)} to sign in with. Mount it, or correct the path."
        )
    raise ProviderLookupError(f"The file {printable(path)} {problem}. Correct it, or the path.")
