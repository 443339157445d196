"""The files that a provider may read (KIP-993)."""

from __future__ import annotations

import errno
import os
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from airflow_config_providers.core.process_environment import user
from airflow_config_providers.core.text import counted, printable, whole_number
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    LimitExceededError,
    ProviderDefinitionError,
    ProviderLookupError,
    ProviderUnavailableError,
    refuse_together,
)
from airflow_config_providers.providers.real_path import (
    DEEPEST,
    Link,
    LinksReadOnce,
    Steps,
    is_inside,
    link_target,
    open_directory,
    open_in,
    open_real,
    real_path,
    steps,
)

if TYPE_CHECKING:
    from airflow_config_providers.core.diagnosis import Diagnosis

ALLOWED_PATHS: Final = "allowed.paths"
MAX_BYTES: Final = "max.bytes"
DEFAULT_MAX_BYTES: Final = 1024 * 1024
"""The most bytes of a file; Kubernetes allows a secret as many."""

_ATTEMPTS: Final = 5
"""How often a file is read that is replaced each time."""

_MISSING: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class AllowedFiles:
    """
    Reads regular files, and lists directories, that lie inside the allowed paths.

    The real place of a file decides: a symbolic link is followed as long as it stays inside an allowed path. A path
    that is not allowed is never looked at, so the answer is the same whether it exists or not.

    :param allowed: directories, or single files; None allows everything
    :param max_bytes: size of the largest file that is read
    :param link: reads a symbolic link
    """

    allowed: tuple[Steps, ...] | None = None
    max_bytes: int = DEFAULT_MAX_BYTES
    link: Link = link_target

    @classmethod
    def of(cls, configs: Mapping[str, Any], *, link: Link = link_target) -> AllowedFiles:
        """
        Return the files that a provider's parameters ``allowed.paths`` and ``max.bytes`` allow.

        :param link: reads a symbolic link
        :raises ProviderDefinitionError: a path is not absolute or does not exist, or the size is not a positive number
        """
        paths = _paths(configs.get(ALLOWED_PATHS))
        max_bytes = whole_number(configs.get(MAX_BYTES, DEFAULT_MAX_BYTES), least=1)
        problems = [problem for path in paths or () if (problem := _problem(path))]
        if max_bytes is None:
            problems.append(f"{MAX_BYTES} is not a positive number of bytes. The default is {DEFAULT_MAX_BYTES}.")
        if problems or max_bytes is None:
            raise ProviderDefinitionError(*problems)
        return cls(None if paths is None else tuple(steps(os.path.normpath(path)) for path in paths), max_bytes, link)

    def require(self, path: str) -> None:
        """
        Require that ``path`` is inside an allowed path; it need not exist.

        :raises AccessDeniedError: it is not
        :raises ConfigException: it cannot be a path
        """
        _Look(self).real(path)

    def require_access(self, path: str) -> None:
        """
        Require that this process may read what is at ``path``, which is not opened.

        :raises AccessDeniedError: not allowed, or not readable by this process
        :raises ConfigException: it cannot be a path
        """
        real = _Look(self).real(path)
        if not os.access("/" + "/".join(real), os.R_OK, effective_ids=True):
            raise _failure(path, errno.EACCES)

    def read(self, path: str) -> bytes | None:
        """
        Return the content of the regular file at ``path``; None if there is none.

        :raises AccessDeniedError: not allowed, or not readable by this process
        :raises ConfigException: it cannot be a path
        :raises LimitExceededError: the file is larger than ``max_bytes``
        :raises ProviderUnavailableError: the system could not read it now
        """
        return self._within_limit(path, self._with_descriptor(path, self._content, is_kind=stat.S_ISREG))

    def read_text(self, path: str) -> str | None:
        """
        Return the text of the regular file at ``path``, which must be UTF-8: a secret with replaced bytes is useless.

        :raises ConfigException: it is not UTF-8. Other errors as with ``read``.
        """
        return _text(path, self.read(path))

    def read_directory(self, path: str, keys: Collection[str] | None) -> Mapping[str, str] | None:
        """
        Return the contents of the regular files in the directory at ``path``; None if there is no directory.

        Each link and each directory is opened once, so all contents are of one generation if someone switches a link
        or replaces the directory. Names that no reference can have are left out.

        :param keys: the names that are wanted; None for all
        :raises ConfigException: a file is not UTF-8. Other errors as with ``read``.
        """

        def read(look: _Look) -> tuple[Mapping[str, str] | None, bool]:
            real = look.real(path)
            looked = _without_system_errors(path, lambda: self._contents(path, real, keys, look))
            found, is_steady = looked or (None, True)
            is_whole = found is not None and keys is not None and found.keys() >= set(keys)
            return found, is_whole or (is_steady and look.link.are_current())

        return self._until_steady(path, read)

    def is_directory(self, path: str) -> bool:
        """Return whether a directory is at ``path``; False if that may not be known."""
        return self._is(path, stat.S_ISDIR)

    def is_file(self, path: str) -> bool:
        """Return whether a regular file is at ``path``; False if that may not be known."""
        return self._is(path, stat.S_ISREG)

    def is_broken_link(self, path: str) -> bool:
        """Return whether a link that leads to nothing is at ``path``; False if that may not be known."""
        with suppress(ProviderLookupError, ConfigException, OSError, ValueError):
            _Look(self).real(path)  # refuses a path that may not be read
            return Path(path).is_symlink() and not Path(path).exists()
        return False

    def _is(self, path: str, is_kind: Callable[[int], bool]) -> bool:
        with suppress(ProviderLookupError, ConfigException):
            return bool(self._with_descriptor(path, lambda _: True, is_kind=is_kind))
        return False

    def _contents(
        self, path: str, real: Steps, keys: Collection[str] | None, look: _Look
    ) -> tuple[Mapping[str, str] | None, bool]:
        """Return the contents, and whether the directory that they were read from is still in its place."""
        with open_real(real, is_kind=stat.S_ISDIR) as directory:
            if directory is None:
                return None, True
            listed = os.listdir(directory)  # noqa: PTH208 - a descriptor
            names = [name for name in listed if name.isprintable() and (keys is None or name in keys)]
            texts: dict[str, str] = {}
            for parent, files in look.by_parent(path, real, names).items():
                with _opened(parent, directory if parent == real else None) as descriptor:
                    texts.update(self._texts(path, files, descriptor))
            return texts, _is_at(directory, real)

    def _texts(self, path: str, files: Mapping[str, str], directory: int | None) -> Iterator[tuple[str, str]]:
        for key, name in files.items():
            file = f"{path}/{key}"
            content = _without_system_errors(file, partial(self._content_in, directory, name))
            text = _text(file, self._within_limit(file, content))
            if text is not None:
                yield key, text

    def _content_in(self, directory: int | None, name: str) -> bytes | None:
        if directory is None:
            return None
        with open_in(directory, name, is_kind=stat.S_ISREG) as descriptor:
            return None if descriptor is None else self._content(descriptor)

    def check(self) -> str:
        """
        Find out whether each allowed path can be opened; reads no file.

        :return: how many paths are allowed
        :raises AccessDeniedError: this process may not read one; names all that cannot be opened
        :raises ProviderUnavailableError: one is missing, or cannot be opened now
        """
        if self.allowed is None:
            return "every file is allowed"
        refuse_together(failure for root in self.allowed if (failure := self._unreadable("/" + "/".join(root))))
        return counted(len(self.allowed), "allowed path")

    def diagnose(self) -> Iterator[Diagnosis]:
        """
        Yield how many paths are allowed, those that other users could change, and what is wrong below them.

        :raises ProviderLookupError: as in ``check``
        """
        from airflow_config_providers.core.diagnosis import fine  # noqa: PLC0415 - no task asks for one
        from airflow_config_providers.providers.checks import rights_of  # noqa: PLC0415 - see above
        from airflow_config_providers.providers.files_below import diagnose_below  # noqa: PLC0415 - see above

        yield fine(self.check())
        for root in self.allowed or ():
            yield from rights_of("/" + "/".join(root))
            yield from diagnose_below(self, "/" + "/".join(root))

    def _unreadable(self, path: str) -> ProviderLookupError | None:
        try:
            kinds = (stat.S_ISDIR, stat.S_ISREG)
            is_open = any(self._with_descriptor(path, lambda _: True, is_kind=kind) for kind in kinds)
        except ProviderLookupError as error:
            return error
        if is_open:
            return None
        return ProviderUnavailableError(
            f"{printable(path)} is no longer a directory or file. Create it, or remove it from the list."
        )

    def _content(self, descriptor: int) -> bytes:
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(self.max_bytes + 1)

    def _within_limit(self, path: str, content: bytes | None) -> bytes | None:
        if content is not None and len(content) > self.max_bytes:
            raise LimitExceededError(
                f"{printable(path)} is larger than {self.max_bytes} bytes. The deployment owner can raise the "
                f"provider's param.{MAX_BYTES}."
            )
        return content

    def _with_descriptor(self, path: str, use: Callable[[int], _T], *, is_kind: Callable[[int], bool]) -> _T | None:
        def read(look: _Look) -> tuple[_T | None, bool]:
            real = look.real(path)

            def opened() -> _T | None:
                with open_real(real, is_kind=is_kind) as descriptor:
                    return None if descriptor is None else use(descriptor)

            found = _without_system_errors(path, opened)
            return found, found is not None or look.link.are_current()

        return self._until_steady(path, read)

    def _until_steady(self, path: str, read: Callable[[_Look], tuple[_T, bool]]) -> _T:
        """
        Return the result of ``read`` from the first attempt during which nothing was switched.

        :raises ProviderUnavailableError: something was switched during every attempt
        """
        for _ in range(_ATTEMPTS):
            found, is_sound = read(_Look(self))
            if is_sound:
                return found
        raise ProviderUnavailableError(f"{printable(path)} was replaced each time it was read. Try again later.")


_OF_PROCESSES: Final = (("proc",),)
"""Where the system shows what processes have, such as their environment: a wide allowed path must not lead there."""


def _refuse_processes(path: str, real: Steps) -> None:
    if is_inside(real, _OF_PROCESSES):
        raise AccessDeniedError(f"{printable(path)} is in /proc, where no provider reads. Correct the path.")


class _Look:
    """
    One look at the files, to which each link leads to one place.

    :param files: the files that may be read
    :ivar link: reads each link once
    """

    def __init__(self, files: AllowedFiles) -> None:
        self.link = LinksReadOnce(files.link)
        self._allowed = files.allowed
        self._roots: list[Steps] = [()]

    def real(self, path: str) -> Steps:
        """
        Return the real place of ``path``; it need not exist.

        :raises AccessDeniedError: it is not inside an allowed path, or in ``/proc``
        :raises ConfigException: it cannot be a path
        """
        if not path.isprintable():
            raise _unprintable(path)
        if len(steps(path)) > DEEPEST:
            raise ConfigException(f"{printable(path)} has more than {DEEPEST} names. Correct the path.")
        real = self._real(path)
        if real is None:
            raise _denied(path)
        _refuse_processes(path, real)
        return real

    def by_parent(self, path: str, real: Steps, names: Iterable[str]) -> dict[Steps, dict[str, str]]:
        """
        Return directory -> key -> name in it, for all of ``names`` in the directory at ``real``.

        :param real: what ``real`` returned for ``path``
        :raises AccessDeniedError: one is not inside an allowed path
        """
        found = defaultdict[Steps, dict[str, str]](dict)
        for name in names:
            place = real_path((name,), self._roots, below=real, link=self.link)
            if place is None:
                raise _denied(f"{path}/{name}")
            _refuse_processes(f"{path}/{name}", place)
            found[place[:-1]][name] = place[-1] if place else "."
        return found

    def _real(self, path: str) -> Steps | None:
        if self._allowed is None:
            return real_path(steps(Path(path).absolute()), self._roots, link=self.link)
        normal = steps(os.path.normpath(path))
        root = next((root for root in self._allowed if is_inside(normal, [root])), None)
        if root is None or not path.startswith("/"):
            return None
        real = {allowed: real_path(allowed, [()], link=self.link) for allowed in self._allowed}
        self._roots = [place for place in real.values() if place is not None]
        below = real[root]
        return None if below is None else real_path(normal[len(root) :], self._roots, below=below, link=self.link)


@contextmanager
def _opened(directory: Steps, descriptor: int | None) -> Iterator[int | None]:
    """Return a descriptor of ``directory``: the one that is already open, if any; None if it is gone."""
    if descriptor is not None:
        yield descriptor
        return
    with ExitStack() as stack:
        yield _without_system_errors("/" + "/".join(directory), lambda: stack.enter_context(open_directory(directory)))


def _is_at(descriptor: int, path: Steps) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat("/" + "/".join(path)))
    except OSError:
        return False


def _without_system_errors(path: str, call: Callable[[], _T]) -> _T | None:
    """Return the result of ``call``; None if there is nothing. Other system errors become errors about ``path``."""
    try:
        return call()
    except OSError as error:
        code = error.errno
    if code in _MISSING:
        return None
    raise _failure(path, code)


def _text(path: str, content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start
    raise ConfigException(f"{printable(path)}: byte {offset} is not UTF-8. Save the file as UTF-8.")


def _paths(value: object) -> list[str] | None:
    """Return the paths of the list; None without a value, and no paths if there are only commas."""
    if value is None or value == "":
        return None
    return [item for part in str(value).split(",") if (item := part.strip())]


def _problem(path: str) -> str | None:
    if not path.startswith("/"):
        return f"{ALLOWED_PATHS}: {printable(path)} is not absolute. Begin it with /."
    if not os.path.exists(path):  # noqa: PTH110 - Path.exists() raises where a directory above may not be entered
        return f"{ALLOWED_PATHS}: {printable(path)} does not exist for this process. Correct or remove it."
    return None


def _unprintable(path: str) -> ConfigException:
    position, character = next(item for item in enumerate(path) if not item[1].isprintable())
    return ConfigException(
        f"The path {printable(path)} has the character {printable(character)} at position {position}. "
        f"Remove it: such a path is never read."
    )


def _denied(path: str) -> AccessDeniedError:
    way_out = (
        f"The deployment owner can add its directory to the provider's param.{ALLOWED_PATHS}; symbolic links must not "
        f"lead out of it."
    )
    if not path.startswith(os.sep):
        way_out = "Write the whole path, which begins with a slash."
    return AccessDeniedError(f"{printable(path)} is not inside an allowed path, so it is not read. {way_out}")


def _failure(path: str, code: int | None) -> ProviderLookupError:
    if code == errno.ELOOP:
        return _denied(path)
    if code in {errno.EACCES, errno.EPERM}:
        return AccessDeniedError(
            f"{printable(path)} cannot be read by the user of this process, {printable(user())}. Give it read access."
        )
    reason = os.strerror(code) if code else "no reason given"
    return ProviderUnavailableError(f"{printable(path)} cannot be read now ({reason}).")
