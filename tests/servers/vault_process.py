"""The real Vault that `tests/servers/vault` builds, as a process."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from tests.limits import LONGEST


@dataclass(frozen=True, slots=True)
class VaultAddress:
    """
    The address of a Vault, and its root token.

    :param unseal_key: the key; None if tests cannot unseal it, and so must not seal it
    """

    address: str
    root_token: str = field(repr=False)
    unseal_key: str | None = field(default=None, repr=False)


class VaultProcess(ClosedOnExit):
    """
    A Vault in memory on a free port of 127.0.0.1. It ends with ``close``, and with this process.

    :param binary: what `tests.servers.build` built
    """

    def __init__(self, binary: Path) -> None:
        self._process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said:
            self.close()
            raise RuntimeError(f"{binary} ended before it was ready: its standard error says why")
        self.at = VaultAddress(**json.loads(said))

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
