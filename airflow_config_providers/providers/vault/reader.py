"""Finds the secret at a path, wherever in Vault it is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, ProviderUnavailableError
from airflow_config_providers.providers.vault.faults import VaultAnswer
from airflow_config_providers.providers.vault.outcome import VaultOutcome, VaultPlace, refusal, too_large
from airflow_config_providers.providers.vault.paths import SYSTEM, Mount, Segments, VaultPath, question, quoted

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.session import Session

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
        if outcome.answer.is_good or outcome.answer.status == 404:
            return outcome
        raise refusal(outcome, path, where=self.session.where)

    def _after_others(self, path: VaultPath) -> VaultOutcome:
        """Find ``path``; if its mount is not known, go first, or after another thread has been there."""
        for together in (path.segments[:1], path.segments[:-1]):  # usually one mount, otherwise one folder
            if self.known(path) is not None:
                break
            place = self._places(path.segments)[0]
            told = self._ahead(("first", *together), lambda: (path, self._find(path)), of=place.segments)
            if told is not None and told[0] is path:
                return told[1]
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
            if all(other.mount is None and other.answer.is_denied for other in same):
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
        if guess.kv_version == 1 and outcome.answer.is_good:
            return outcome
        mount = self._mount_of(place.segments)
        if mount is None:
            return replace(outcome, mount=None, answer=_NOTHING if outcome.answer.is_good else outcome.answer)
        return outcome if mount == guess else self._ask(place, path, mount)

    def _said(self, place: VaultPlace) -> Mount | None:
        version = self.session.settings.kv_version
        return Mount(place.segments[: place.guess], version) if place.is_given and version is not None else None

    def _plain(self, path: VaultPath, places: Iterable[VaultPlace]) -> list[VaultOutcome]:
        """Read without knowing the engine, as behind a gateway that blocks the question for the mount."""
        if path.version is not None or not SYSTEM.isdisjoint(path.segments):
            return []
        return [replace(self._ask(place, path, Mount(place.segments[:1])), mount=None) for place in places]

    def _ask(self, place: VaultPlace, path: VaultPath, mount: Mount) -> VaultOutcome:
        if path.version is not None and mount.kv_version != 2:
            raise ConfigException(
                f"The path '{printable(str(path))}' names a version, but '{printable('/'.join(mount.segments))}' has "
                f"none: only a key-value engine of version 2 has versions. Leave ?version= out."
            )
        query = None if path.version is None else {"version": str(path.version)}
        address, token, since = mount.address(place.segments), self.session.token(), self.session.clock()
        answer = self.session.get(quoted(address), token=token, query=query, mount=quoted(mount.segments))
        outcome = VaultOutcome(place, answer, address, mount, token, since)
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
            told = self._ahead(("mount", *together), lambda: self._asked_mount(segments), of=segments)
            if told is not None and (told[0] == folder or _holds(told[1], segments)):
                return told[1] if _holds(told[1], segments) else None
        return self._asked_mount(segments)[1]

    def _asked_mount(self, segments: Segments) -> tuple[Segments, Mount | None]:
        mount = self.session.mounts.find(segments)
        if mount is None:
            answer = self.session.get(question(segments), token=self.session.token())
            mount = Mount.of(answer.body.get("data")) if answer.is_good else None
        if mount is None or not mount.holds(segments):
            return segments[:-1], None
        self.session.mounts.remember(mount)
        return segments[:-1], mount


def _holds(mount: Mount | None, segments: Segments) -> bool:
    return mount is not None and mount.holds(segments)
