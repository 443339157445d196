"""An examination of one Vault: its address, its state, our login and what it may see; reads no secret."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fault, fine
from airflow_config_providers.core.text import first_of, printable
from airflow_config_providers.providers.checks import rights_of
from airflow_config_providers.providers.vault.transport import THIS_MACHINE

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.session import HeldToken, Session
    from airflow_config_providers.providers.vault.settings import VaultSettings

_HEALTH: Final = {"standbyok": "true", "perfstandbyok": "true"}
_NOTICEABLE_SKEW_SECONDS: Final = 5.0
_HARMFUL_SKEW_SECONDS: Final = 60.0
"""Vault accepts a JWT that is off by this much by default; AWS and others accept less or a little more."""

_OF_EVERY_TOKEN: Final = frozenset({"cubbyhole/", "identity/", "sys/"})
"""Mounts in which Vault's default policy allows something."""

_SHOWN: Final = 10
"""The most names that are shown of a list."""


def diagnose(session: Session, *, now: Callable[[], float] = time.time) -> Iterator[Diagnosis]:
    """
    Yield what is found, until something makes the rest impossible.

    :param now: the time of this machine
    :raises ConfigProvidersError: Vault does not answer, is sealed, or refuses our login
    """
    yield from _address(session.settings)
    yield from _files(session.settings)
    yield from _clock(session, now)
    session.check()
    token = session.token()
    yield from _token(session, token)
    yield from _mounts(session, token)


def _address(settings: VaultSettings) -> Iterator[Diagnosis]:
    url = printable(settings.url)
    if settings.url.startswith("http:") and not THIS_MACHINE.match(settings.url):
        yield doubt(f"The connection to {url} is not encrypted: others can read logins and secrets.", "Use https.")
    if settings.url.startswith("https:") and settings.verify is False:
        yield doubt(
            f"The certificate of {url} is not verified: others can pose as Vault.",
            "Name its CA with ca_cert instead of verify=false.",
        )


def _files(settings: VaultSettings) -> Iterator[Diagnosis]:
    """Examine the files that hold what we sign in with."""
    key = settings.cert[1] if settings.cert else ""
    for path in (key, *settings.login.files):
        if path:
            yield from rights_of(path, is_secret=True)


def _clock(session: Session, now: Callable[[], float]) -> Iterator[Diagnosis]:
    before = now()
    answer = session.transport.get("sys/health", query=_HEALTH)
    there, after = answer.body.get("server_time_utc"), now()
    yield fine(f"{session.where} answers, and is not sealed.")
    if not isinstance(there, int | float) or isinstance(there, bool):
        return
    # Vault leaves out fractions of a second.
    skew = max(0.0, before - (there + 1), there - after)
    if skew >= _NOTICEABLE_SKEW_SECONDS:
        is_harmful = skew >= _HARMFUL_SKEW_SECONDS
        make, when = (fault, "") if is_harmful else (doubt, f"beyond {_HARMFUL_SKEW_SECONDS:.0f} seconds, ")
        yield make(
            f"The clocks of this machine and of {session.where} differ by {skew:.0f} seconds; {when}logins with a JWT "
            f"or a cloud identity break.",
            "Synchronise both clocks: timedatectl set-ntp true",
        )


def _token(session: Session, token: HeldToken) -> Iterator[Diagnosis]:
    data = session.transport.get("auth/token/lookup-self", token=token.text).data
    if not isinstance(data, Mapping):
        yield fine("The login works; its policies do not let it look itself up.")
        return
    policies = _names(data.get("policies")) + _names(data.get("identity_policies"))
    ttl = data.get("ttl")
    lifetime = f"lasts {ttl:.0f} seconds" if isinstance(ttl, int | float) and ttl else "has no end"
    yield fine(f"The login works, {lifetime}, with the policies {_listed(policies)}.")
    if "root" in policies:
        yield doubt("The token has the policy root, which may do everything.", "Sign in with a role that only reads.")


def _mounts(session: Session, token: HeldToken) -> Iterator[Diagnosis]:
    data = session.transport.get("sys/internal/ui/mounts", token=token.text).data
    mounts = data.get("secret") if isinstance(data, Mapping) else None
    if not isinstance(mounts, Mapping):
        yield doubt(
            "The mounts that the login may read cannot be listed.", "Compare its policies with the paths of references."
        )
        return
    readable = sorted(str(name) for name in mounts if name not in _OF_EVERY_TOKEN)
    if not readable:
        yield doubt("The login may read no mount.", "Add a policy with the capability read to its role.")
        return
    yield fine(f"The login may read something in {_listed(readable)}.")
    mount_point = session.settings.mount_point
    if mount_point and f"{mount_point}/" not in mounts:
        yield doubt(
            f"The login may read nothing in the mount_point '{printable(mount_point)}'.",
            "Correct mount_point, or add a policy for it.",
        )


def _names(found: object) -> list[str]:
    return [str(name) for name in found] if isinstance(found, list) else []


def _listed(names: list[str]) -> str:
    return first_of(names, most=_SHOWN) or "none"
