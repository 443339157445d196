"""Finds the secret at a path, wherever in Vault it is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ConfigProvidersError,
    ProviderLookupError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.vault.faults import VaultAnswer
from airflow_config_providers.providers.vault.paths import Mount, Segments, VaultPath, could_be_own, question, quoted

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.session import HeldToken, Session

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
    missing, advice = _missing(outcome, path)
    return f"{where} {missing}{_hint(outcome, path, otherwise=advice)}"


def refusal(outcome: VaultOutcome, path: VaultPath, *, where: str) -> ProviderLookupError:
    """
    Return the error for a read that did not succeed.

    :param path: the path in the reference
    :param where: names the Vault
    """
    asked = f"{where} refused to read '{printable(str(path))}' ({outcome.answer.shown})"
    if not outcome.answer.is_denied:
        advice = f"Vault has this path, but it cannot be read this way: {_HOW_ELSE}. Correct the path."
        return ProviderLookupError(asked + _hint(outcome, path, otherwise=advice))
    advice = f"Let a policy of the login read '{printable('/'.join(outcome.address))}', or correct the path"
    if _has_no_mount(outcome, path):
        advice += f": nothing that the login may read is mounted at '{printable(path.segments[0])}'"
    return AccessDeniedError(asked + _hint(outcome, path, otherwise=f"{advice}."))


def _no_answer(outcome: VaultOutcome, path: VaultPath, *, where: str) -> ProviderUnavailableError:
    """Return the error for an answer that is none of Vault's."""
    return ProviderUnavailableError(
        f"{where} answered for '{printable(str(path))}' with {outcome.answer.shown}, but without a secret: perhaps "
        f"something in front of it answers, such as a page about maintenance. Try again later, or correct its address."
    )


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


def _missing(outcome: VaultOutcome, path: VaultPath) -> tuple[str, str]:
    """Return what is missing, and what to do about it."""
    name, metadata = printable(str(path)), _metadata(outcome)
    if metadata.get("destroyed") is True:
        return f"has destroyed{_version(metadata)} '{name}'", "Write a new version, or refer to another one."
    if metadata.get("deletion_time"):
        return (
            f"has deleted{_version(metadata)} '{name}'",
            "Undelete it, write a new version, or refer to another one.",
        )
    if _has_no_mount(outcome, path):
        mount, below = printable(path.segments[0]), printable("/".join(outcome.place.segments))
        also = "" if below == name else f", and no secret at '{below}'"
        return f"has no mount '{mount}' that the login may read{also}", "Correct the path, or mount the engine."
    version = "" if path.version is None else ", or no such version of it"
    place = printable("/".join(outcome.place.segments))
    return f"has no secret at '{place}'{version}", "Correct the path, or write the secret."


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


def _hint(outcome: VaultOutcome, path: VaultPath, *, otherwise: str) -> str:
    """
    Return the rest of the sentence about a path, and what to do.

    If the path was written as in Vault's API, the path that a reference needs comes first, because it is nearly always
    the reason.

    :param otherwise: what to do about any other path
    """
    if not (meant := _meant(outcome, path)):
        return f". {otherwise}"
    apart = otherwise.replace("Correct the path, or ", "").replace(", or correct the path", "")
    return (
        f": write '{meant}', because a reference has the path of 'vault kv get', not that of Vault's API. If you mean "
        f"'{printable(str(path))}' itself: {apart}"
    )


def _meant(outcome: VaultOutcome, path: VaultPath) -> str:
    """Return the path as a reference needs it, if it was written as in Vault's API; otherwise an empty string."""
    if _metadata(outcome):  # there was a secret at this very path
        return ""
    own = path.segments[1:] if path.segments[0] == _API else path.segments
    mount = _mount(outcome, own)
    rest = own[len(mount) :]
    if len(rest) > 1 and rest[0] in _API_KINDS:
        rest = rest[1:]
    elif own == path.segments:
        return ""
    return printable("/".join((*mount, *rest)))


def _mount(outcome: VaultOutcome, segments: Segments) -> Segments:
    mount = outcome.mount
    return mount.segments if mount is not None and mount.holds(segments) else segments[:1]


_T = TypeVar("_T")

_DEFAULT: Final = ("secret",)
"""The mount in which Vault's own tools, and Airflow's, look for secrets."""

_NOTHING: Final = VaultAnswer(404)


@dataclass(frozen=True, slots=True)
class VaultReader:
    """
    Reads paths with a session; thread-safe.

    With a ``mount_point``, a path is looked for below it and, if there is nothing, in the mount that its own first
    names are. Without one, it begins with its mount; if there is no such mount, it is looked for below ``secret``. A
    path that begins with the ``mount_point`` is first tried unchanged.

    Usually the answer to a read shows the kind of engine; otherwise Vault is asked. If several threads come to an
    unknown mount at the same time, one goes ahead, and the others wait for its result.
    """

    session: Session = field(repr=False)

    def read(self, path: VaultPath) -> VaultOutcome:
        """
        Return the secret at ``path``, or that there is none.

        If a token that has ended is refused, there is one new login, and one more read.

        :raises AccessDeniedError: Vault refuses
        :raises ProviderUnavailableError: Vault cannot answer now
        :raises ProviderLookupError: it cannot be read in this way
        :raises ConfigException: the mount has no versions
        """
        outcome = self._after_others(path)
        body = outcome.answer.body
        is_page = outcome.answer.is_good and "request_id" not in body and not isinstance(body.get("data"), Mapping)
        if is_page or outcome.answer.is_foreign:
            raise _no_answer(outcome, path, where=self.session.where)
        if outcome.answer.is_good or outcome.answer.status == 404:
            return outcome
        raise refusal(outcome, path, where=self.session.where)

    def _after_others(self, path: VaultPath) -> VaultOutcome:
        """Find ``path``; if its mount is not known, go first, or after another thread has been there."""
        for together in (path.segments[:1], path.segments[:-1]):  # usually one mount, otherwise one folder
            if self.known(path) is not None:
                break
            place = self._places(path.segments)[0]
            shared = self._ahead(("first", *together), lambda: (path, self._find(path)), of=place.segments)
            if shared is not None and shared[0] is path:
                return shared[1]
        return self._find(path)

    def _ahead(self, key: Hashable, call: Callable[[], _T], *, of: Segments) -> _T | None:
        """
        Return the result of ``call``, or of the first thread's call, which asks for its own path.

        None if that thread's call failed and this thread's may not: the failure belongs to that path, or to its mount.

        :param of: the path, beginning with the mount
        """

        def run() -> tuple[object, _T | None, ConfigProvidersError | None]:
            try:
                return run, call(), None
            except ConfigProvidersError as error:
                if isinstance(error, ProviderUnavailableError) and self.session.mounts.find(of) is None:
                    raise
                return run, None, error

        first, found, error = self.session.flights.run(key, run)
        if error is not None and first is run:
            raise error
        return found

    def _find(self, path: VaultPath) -> VaultOutcome:
        outcome = self._found(path)
        if outcome.answer.is_denied and self.session.replaces(outcome.token, outcome.answer):
            refused, outcome = outcome.token, self._found(path)
            if outcome.answer.is_denied:
                self.session.login_was_no_help(refused)
        return outcome

    def known(self, path: VaultPath) -> tuple[Segments, Mount] | None:
        """Return the first place to look in and its mount, if the kind of that mount is known."""
        first = self._places(path.segments)[0]
        mount = self.session.mounts.find(first.segments) or self._said(first)
        return None if mount is None else (first.segments, mount)

    def _found(self, path: VaultPath) -> VaultOutcome:
        tried: list[VaultOutcome] = []
        for place in self._places(path.segments):
            if tried and tried[-1].mount is not None and self._is_closed(place.segments, token=tried[-1].token.text):
                continue
            outcome = self._read_at(place, path)
            if outcome.is_final:
                self._note_absence(tried, outcome)
                return outcome
            tried.append(outcome)
        tried += self._plain(path, [outcome.place for outcome in tried if outcome.mount is None])
        self._note_closed(tried)
        return max(tried, key=lambda outcome: (outcome.answer.is_good, *outcome.weight))

    def _places(self, own: Segments) -> list[VaultPlace]:
        given = tuple((self.session.settings.mount_point or "").split("/"))
        if given == ("",):
            return self._places_by_name(own)
        below = VaultPlace(given + own, guess=len(given), is_given=True)
        if len(own) > len(given) and own[: len(given)] == given:
            return [VaultPlace(own, guess=len(given), is_given=True), below]
        return [below, VaultPlace(own)] if len(own) > 1 else [below]

    def _places_by_name(self, own: Segments) -> list[VaultPlace]:
        as_it_is, below = VaultPlace(own, is_final=True), VaultPlace(_DEFAULT + own)
        if len(own) == 1:
            return [below]
        if own[:1] == _DEFAULT:
            return [as_it_is]
        is_hopeless = self.session.mounts.is_absent(own[0]) or self._is_closed(own)
        return [below, as_it_is] if is_hopeless else [as_it_is, below]

    def _is_closed(self, segments: Segments, *, token: str | None = None) -> bool:
        return self.session.mounts.is_closed(segments, now=self.session.clock(), token=token)

    def _note_closed(self, tried: list[VaultOutcome]) -> None:
        """Remember where Vault refused everything, even to name the mount: we may not read any there."""
        for outcome in tried:
            same = [other for other in tried if other.place == outcome.place]
            if all(other.mount is None and other.answer.is_denied and not other.answer.is_foreign for other in same):
                token, now = outcome.token.text, self.session.clock()
                self.session.mounts.remember_closed(outcome.place.segments, now=now, token=token)

    def _note_absence(self, tried: list[VaultOutcome], found: VaultOutcome) -> None:
        """Remember that the first name of a path is not a mount, once a read below ``secret`` has succeeded."""
        if found.answer.is_good and len(tried) == 1 and tried[0].place.is_final:
            self.session.mounts.remember_absent(tried[0].place.segments[0])

    def _read_at(self, place: VaultPlace, path: VaultPath) -> VaultOutcome:
        mount = self.session.mounts.find(place.segments) or self._said(place)
        if mount is not None:
            return self._ask(place, path, mount)
        guess = Mount(place.segments[: place.guess], self.session.settings.kv_version or 2)
        outcome = self._ask(place, path, guess)
        if guess.proves_itself(outcome.answer.body):
            self.session.mounts.remember(guess)
            return outcome
        if guess.kv_version == 1 and outcome.answer.is_good and not could_be_own(place.segments):
            return outcome
        mount = self._mount_of(place.segments)
        if mount is None:
            return replace(outcome, mount=None, answer=_NOTHING if outcome.answer.is_good else outcome.answer)
        return outcome if mount == guess else self._ask(place, path, mount)

    def _said(self, place: VaultPlace) -> Mount | None:
        """Return the mount that the definition describes; None where only Vault can say that it is one."""
        version = self.session.settings.kv_version
        if version is None or not place.is_given or could_be_own(place.segments):
            return None
        return Mount(place.segments[: place.guess], version)

    def _plain(self, path: VaultPath, places: Iterable[VaultPlace]) -> list[VaultOutcome]:
        """Read without knowing the engine, as behind a gateway that blocks the question for the mount."""
        if path.version is not None:
            return []
        open_ = [place for place in places if not could_be_own(place.segments)]
        return [replace(self._ask(place, path, Mount(place.segments[:1])), mount=None) for place in open_]

    def _ask(self, place: VaultPlace, path: VaultPath, mount: Mount) -> VaultOutcome:
        if path.version is not None and mount.kv_version != 2:
            raise ConfigException(
                f"The path '{printable(str(path))}' names a version, but '{printable('/'.join(mount.segments))}' has "
                f"none: only a key-value engine of version 2 has versions. Leave ?version= out."
            )
        query = None if path.version is None else {"version": str(path.version)}
        address, token, since = mount.address(place.segments), self.session.token(), self.session.clock()
        ask = self.session.transport.get
        answer = ask(quoted(address), token=token.text, query=query, mount=quoted(mount.segments))
        outcome = VaultOutcome(place, answer, address=address, mount=mount, token=token, since=since)
        if answer.is_too_large:
            raise too_large(outcome, path, where=self.session.where)
        return outcome

    def _mount_of(self, segments: Segments) -> Mount | None:
        """
        Return the mount that Vault names; None if there is none, or if we may read nothing in it.

        Threads share the question if their paths share the first name, or all names but the last.
        """
        folder = segments[:-1]
        for together in (segments[:1], folder):
            shared = self._ahead(("mount", *together), lambda: self._asked_mount(segments), of=segments)
            if shared is not None and (shared[0] == folder or _holds(shared[1], segments)):
                return shared[1] if _holds(shared[1], segments) else None
        return self._asked_mount(segments)[1]

    def _asked_mount(self, segments: Segments) -> tuple[Segments, Mount | None]:
        mount = self.session.mounts.find(segments)
        if mount is None:
            token = self.session.token().text
            mount = Mount.of(self.session.transport.get(question(segments), token=token).data)
        if mount is None or not mount.holds(segments):
            return segments[:-1], None
        self.session.mounts.remember(mount)
        return segments[:-1], mount


def _holds(mount: Mount | None, segments: Segments) -> bool:
    return mount is not None and mount.holds(segments)


_log = logging.getLogger(__name__)

_SECONDS_DENIED: Final = 3600.0
"""For how long the metadata of a path is not asked for again, after a policy denied it; policies change."""

Mark = tuple[int, str]
"""The number of a version, and when it was written; a secret that was deleted and written anew begins at 1 again."""


class Versions:
    """
    The versions of secrets in key-value engines of version 2, from their metadata. Thread-safe.

    :param reader: knows where a path leads
    """

    def __init__(self, reader: VaultReader) -> None:
        self._reader = reader
        self._session = reader.session
        self._denied_until: dict[VaultPath, float] = {}
        self._has_logged = False

    def mark(self, path: VaultPath) -> Mark | None:
        """
        Return a mark of the version that a read of ``path`` would return.

        None if that is not known: in another engine, without a mount that is known, if the version was deleted or will
        be, or if the login may not read the metadata.

        :raises ProviderUnavailableError: Vault cannot answer now
        """
        known = self._reader.known(path)
        if known is None or known[1].kv_version != 2 or self._session.clock() < self._denied_until.get(path, 0.0):
            return None
        segments, mount = known
        address = mount.metadata_address(segments)
        token = self._session.token().text
        answer = self._session.transport.get(quoted(address), token=token, mount=quoted(mount.segments))
        if answer.is_denied_by_policy:
            self._denied_until[path] = self._session.clock() + _SECONDS_DENIED
            self._log_once("/".join(address), answer)
        return _mark(answer.data, path.version)

    def _log_once(self, address: str, answer: VaultAnswer) -> None:
        if not self._has_logged:
            self._has_logged = True
            _log.info(
                "%s: subscriptions read values to look for changes, as the login may not read metadata (%s). To have "
                "only new versions read, let a policy read '%s'.",
                self._session.where,
                answer.shown,
                printable(address),
            )


def _mark(metadata: object, version: int | None) -> Mark | None:
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("versions"), Mapping):
        return None
    number = metadata.get("current_version") if version is None else version
    found = metadata["versions"].get(str(number))
    if not isinstance(found, Mapping) or found.get("deletion_time") or found.get("destroyed") is not False:
        return None
    return (int(str(number)), str(found.get("created_time")))
