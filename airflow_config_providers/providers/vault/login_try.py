"""One login, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.providers.vault import faults
from airflow_config_providers.providers.vault.transport import is_limit, retry_after

if TYPE_CHECKING:
    import hvac
    import requests

    from airflow_config_providers.providers.vault.login import Login, VaultToken

_GATEWAY_TIMEOUT: Final = 504
"""What a proxy says that sent a request on and got no answer."""


class LoginTry:
    """
    Signs in once, and sees what Vault answers, which hvac does not show.

    :param login: as ``Login.read`` returns it
    :param client: made for this login; asks nobody else than Vault
    :ivar is_lost: whether Vault may have counted a failure of this login, and its answer did not reach us
    """

    def __init__(self, login: Login, client: hvac.Client) -> None:
        self._login = login
        self._client = client
        self._last: requests.Response | None = None
        self.is_lost = False
        client.adapter.session.hooks["response"].append(self._see)

    def run(self) -> VaultToken:
        """Sign in; raises what the login raises."""
        try:
            return self._login(self._client)
        except Exception as error:
            self.is_lost = self._login.can_lock_out and self._is_answer_lost(error)
            raise

    def refusal(self) -> int | None:
        """Return the status with which Vault refused the login; None where it did not."""
        status = None if self._last is None else self._last.status_code
        return status if status in faults.LOGIN_REFUSALS else None

    @property
    def is_refused(self) -> bool:
        """Whether Vault refused the login, if it failed, and what is in hand proves the same again."""
        return self._login.has_proof and self.refusal() is not None

    def is_limit(self) -> bool:
        """Return whether Vault had too many requests for the login."""
        return self._last is not None and is_limit(self._last)

    def retry_after(self) -> float | None:
        """Return the seconds before which Vault wanted no further request when it answered."""
        return None if self._last is None else retry_after(self._last)

    def close(self) -> None:
        """Close the connections."""
        self._client.adapter.close()

    def _is_answer_lost(self, error: Exception) -> bool:
        """Return whether nobody knows what Vault made of the login; a status that tells of a failure says it."""
        if self._last is None or self._last.ok:
            return faults.is_answer_lost(error)
        return self._last.status_code == _GATEWAY_TIMEOUT

    def _see(self, response: requests.Response, **_: Any) -> None:
        self._last = response
