"""What the log says of renewals that Vault refuses."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.text import counted

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.faults import VaultAnswer

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class RefusedRenewals:
    """
    Warns once while one login or lease is not renewed, and says when it is renewed again.

    :param where: which Vault
    :param what: what is renewed, such as ``a lease``
    """

    where: str
    what: str
    _is_told: bool = field(default=False, init=False)

    def refused(self, answer: VaultAnswer, *, left: float) -> None:
        """Note that Vault refused to renew, with ``left`` seconds to the end; it will be asked again."""
        if not self._is_told:
            self._is_told = True
            _log.warning(
                "%s: %s is not renewed (%s). It ends in %s, unless another try succeeds.",
                self.where,
                self.what,
                answer.shown,
                counted(round(left), "second"),
            )

    def renewed(self) -> None:
        """Note a renewal."""
        if self._is_told:
            self._is_told = False
            _log.info("%s: %s is renewed again", self.where, self.what)
