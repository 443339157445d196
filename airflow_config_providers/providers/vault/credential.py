"""A secret that a login needs: written down, or in a file that may change."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ProviderLookupError, ProviderUnavailableError

_MOST_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Credential:
    """
    A secret, or the file that holds it.

    :param given: the secret itself
    :param path: the file, read anew at every ``read``; empty where ``given`` counts
    """

    given: str = field(default="", repr=False)
    path: str = ""

    def read(self) -> str:
        """
        Give the secret; of a file without the line ends around it.

        :raises ProviderUnavailableError: the file is not there or is empty, as it may be while it is being written
        :raises ProviderLookupError: the file cannot be read, is no text in UTF-8, or is larger than 64 KiB
        """
        if not self.path:
            return self.given
        text = _text(self.path).strip("\r\n")
        if not text:
            raise ProviderUnavailableError(f"The file {printable(self.path)} is empty. Whoever writes it is not done.")
        return text

    def version(self) -> object | None:
        """Give a mark that changes when the file does; None without a file, and while it is not there."""
        if not self.path:
            return None
        try:
            status = Path(self.path).stat()
        except (OSError, ValueError):
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


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
        problem = "is no text in UTF-8"
    except ValueError:
        problem = "has a name that no file has"
    if not problem:
        raise ProviderUnavailableError(
            f"There is no file {printable(path)} to sign in with. Mount it, or correct the path."
        )
    raise ProviderLookupError(f"The file {printable(path)} {problem}. Correct it, or the path.")
