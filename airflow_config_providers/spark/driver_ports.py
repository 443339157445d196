"""The ports of a driver, at which Spark gives the configuration to all who ask, unless they have to sign in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from airflow_config_providers.spark.catalogue import AUTHENTICATE_KEY, closes_ports

if TYPE_CHECKING:
    from airflow_config_providers.spark.delivery import Delivery

LOCAL_MASTER: Final = "local[*]"
"""The master of a PySpark that gets none."""

_LOCAL: Final = re.compile(r"local(?:\[(?:[0-9]+|\*)(?:\s*,\s*[0-9]+)?\])?")
"""The masters with which only the driver needs Spark's secret, so that Spark makes one and keeps it."""

_OPEN: Final = (
    "Everyone who reaches a port of the driver, such as each user of this machine, can ask it for the configuration of "
    "the job. To avoid that, set spark.authenticate=true, and on a standalone cluster spark.authenticate.secret, too. "
    "To accept it, set spark.authenticate=false. See 'Ports of the driver' in the documentation."
)

_OPEN_BEFORE: Final = (
    "The secrets of this job go to a SparkContext that other code has started, whose ports everyone can ask for the "
    "configuration: spark.authenticate has no effect on it any longer. Let the task start it, or stop it before the "
    "task. To accept it, set spark.authenticate=false. See 'Ports of the driver' in the documentation."
)


def authenticated(delivery: Delivery, master: object, settings: Mapping[str, object] | None = None) -> Delivery:
    """
    Return ``delivery`` with the keys of ``authentication`` in its private part, if it has secrets.

    :param settings: what the driver gets beside ``delivery``, such as from a connection
    """
    added = authentication({**(settings or {}), **delivery.configs}, master) if delivery.has_secrets else {}
    return replace(delivery, private={**delivery.private, **added}) if added else delivery


def authentication(configs: Mapping[str, object], master: object) -> dict[str, str]:
    """Return the key that closes the ports of a driver; none if ``configs`` have it, or a cluster needs a secret."""
    is_local = _LOCAL.fullmatch(str(master).strip()) is not None
    return {AUTHENTICATE_KEY: "true"} if is_local and AUTHENTICATE_KEY not in configs else {}


def doubt_of_ports(delivery: Delivery, settings: Mapping[str, object] | None = None) -> str:
    """
    Return the warning that others can ask a driver on this machine for secrets.

    It is empty if they cannot, and if a layer has the key: ``false`` says that the ports may stay open.

    :param settings: as for ``authenticated``
    """
    return doubt_of_driver({**(settings or {}), **delivery.configs}) if delivery.has_secrets else ""


def doubt_of_driver(configs: Mapping[str, object]) -> str:
    """Return the same warning for a driver with secrets that resolves ``configs``, all that it has, itself."""
    return "" if AUTHENTICATE_KEY in configs else _OPEN


def doubt_of_context(delivery: Delivery, settings: Mapping[str, object], running: Mapping[str, str]) -> str:
    """
    Return the warning that secrets go to a SparkContext whose ports are open.

    It is empty if they are closed, and if a layer says that they may stay open.

    :param settings: as for ``authenticated``
    :param running: the configuration of the SparkContext
    """
    asked = {AUTHENTICATE_KEY: "true", **settings, **delivery.configs}[AUTHENTICATE_KEY]
    is_closed = closes_ports(running.get(AUTHENTICATE_KEY, ""))
    return _OPEN_BEFORE if delivery.has_secrets and closes_ports(asked) and not is_closed else ""
