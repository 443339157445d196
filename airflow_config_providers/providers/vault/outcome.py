"""
What Vault answered for a place, and why that can be nothing.

What Vault wrote is compared with known messages; only the number of a version is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import AccessDeniedError, ProviderLookupError

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.faults import VaultAnswer
    from airflow_config_providers.providers.vault.paths import Mount, Segments, VaultPath
    from airflow_config_providers.providers.vault.session import HeldToken

_API: Final = "v1"
_API_KINDS: Final = frozenset({"data", "metadata"})
_HOW_ELSE: Final = "it must be written to, as pki/issue/... must, or it names a role that does not exist"


@dataclass(frozen=True, slots=True)
class VaultPlace:
    """
    One place where the secret of a path can be.

    :param segments: its names, beginning with the mount
    :param guess: how many of them are probably the mount
    :param is_given: whether the definition says so
    :param is_final: whether no other place is possible if there is such a mount
    """

    segments: Segments
    guess: int = 1
    is_given: bool = False
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class VaultOutcome:
    """
    Vault's answer for one place.

    :param address: the path in Vault's API, not quoted
    :param mount: the mount of the place; None if Vault did not name one
    :param token: the token of the request
    :param since: when it was asked, by the session's clock
    """

    place: VaultPlace
    answer: VaultAnswer
    address: Segments
    mount: Mount | None
    token: HeldToken = field(repr=False)
    since: float

    @property
    def weight(self) -> tuple[bool, bool]:
        """The rank of the answer if nothing was found: a known mount before a guess, a refusal before nothing."""
        return self.place.is_given or self.mount is not None, self.answer.is_denied

    @property
    def is_final(self) -> bool:
        """Whether there is no other place to look."""
        return self.answer.is_good or (self.place.is_final and self.mount is not None)

    @property
    def document(self) -> Mapping[str, Any]:
        """The secret; empty if there is none."""
        data = self.answer.body.get("data")
        if self.mount is not None and self.mount.kv_version == 2:
            data = data.get("data") if isinstance(data, Mapping) else None
        return data if isinstance(data, Mapping) else {}


def reason_of_absence(outcome: VaultOutcome, path: VaultPath, *, where: str) -> str:
    """
    Return why there is nothing at a path, as sentences.

    :param path: the path in the reference
    :param where: names the Vault
    """
    return f"{where} {_missing(outcome, path)}{_hint(outcome, path)}"


def refusal(outcome: VaultOutcome, path: VaultPath, *, where: str) -> ProviderLookupError:
    """
    Return the error for a read that did not succeed.

    :param path: the path in the reference
    :param where: names the Vault
    """
    answer, hint = outcome.answer, _hint(outcome, path)
    asked = f"{where} refused to read '{printable(str(path))}' ({answer.shown})."
    if not answer.is_denied:
        return ProviderLookupError(
            f"{asked} Vault has this path, but it cannot be read this way: {_HOW_ELSE}. Correct the path.{hint}"
        )
    address = printable("/".join(outcome.address))
    advice = f"Let a policy of the login read '{address}', or correct the path"
    if _has_no_mount(outcome, path):
        advice += f": nothing that the login may read is mounted at '{printable(path.segments[0])}'"
    return AccessDeniedError(f"{asked} {advice}.{hint}")


def too_large(outcome: VaultOutcome, path: VaultPath, *, where: str) -> ProviderLookupError:
    """
    Return the error for an answer that is too large.

    :param path: the path in the reference
    :param where: names the Vault
    """
    return ProviderLookupError(
        f"{where} answered for '{printable(str(path))}' with {outcome.answer.shown}, more than a reference can "
        f"read. Correct the path, or keep only what the job needs there."
    )


def _missing(outcome: VaultOutcome, path: VaultPath) -> str:
    name, metadata = printable(str(path)), _metadata(outcome)
    if metadata.get("destroyed") is True:
        return f"has destroyed{_version(metadata)} '{name}'. Write a new version, or refer to another one."
    if metadata.get("deletion_time"):
        return f"has deleted{_version(metadata)} '{name}'. Undelete it, write a new version, or refer to another one."
    if _has_no_mount(outcome, path):
        mount, below = printable(path.segments[0]), printable("/".join(outcome.place.segments))
        also = "" if below == name else f", and no secret at '{below}'"
        return f"has no mount '{mount}' that the login may read{also}. Correct the path, or mount the engine."
    version = "" if path.version is None else ", or no such version of it"
    place = printable("/".join(outcome.place.segments))
    return f"has no secret at '{place}'{version}. Correct the path, or write the secret."


def _has_no_mount(outcome: VaultOutcome, path: VaultPath) -> bool:
    """Return whether the path should begin with a mount that the login may read, and does not."""
    place = outcome.place
    return not place.is_given and (place.segments != path.segments or outcome.mount is None)


def _metadata(outcome: VaultOutcome) -> Mapping[str, Any]:
    data = outcome.answer.body.get("data")
    metadata = data.get("metadata") if isinstance(data, Mapping) else None
    return metadata if isinstance(metadata, Mapping) else {}


def _version(metadata: Mapping[str, Any]) -> str:
    number = metadata.get("version")
    return f" version {number} of" if isinstance(number, int) else ""


def _hint(outcome: VaultOutcome, path: VaultPath) -> str:
    """Return a hint with the path as a reference needs it, if it was written as in Vault's API."""
    own = path.segments[1:] if path.segments[0] == _API else path.segments
    mount = _mount(outcome, own)
    rest = own[len(mount) :]
    if len(rest) > 1 and rest[0] in _API_KINDS:
        rest = rest[1:]
    elif own == path.segments:
        return ""
    meant = printable("/".join((*mount, *rest)))
    return f" If this is a path of Vault's API, write '{meant}': a reference has the path of 'vault kv get'."


def _mount(outcome: VaultOutcome, segments: Segments) -> Segments:
    mount = outcome.mount
    return mount.segments if mount is not None and mount.holds(segments) else segments[:1]
