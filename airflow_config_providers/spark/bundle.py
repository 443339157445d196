"""
A zip with the parts of this package that a driver or an audit needs, for ``spark-submit --py-files``.

``python -m airflow_config_providers.spark.bundle DRIVER.zip`` writes one. The cluster needs neither Airflow nor an
installation. The zip contains Python modules, the files that they read, and the metadata of libraries; compiled modules
and the documentation of Spark's keys are left out.
"""

from __future__ import annotations

import re
import shutil
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import Path
from typing import Final

from airflow_config_providers.core.named_file import whole_file
from airflow_config_providers.exceptions import ConfigException

_PACKAGE: Final = "airflow_config_providers"
_DISTRIBUTION: Final = "airflow-config-providers"
_PARTS: Final = ("core", "dynamic/policies", "job/records", "log", "providers", "spark")
_MODULES: Final = (
    "__init__.py",
    "dynamic/__init__.py",
    "exceptions.py",
    "foreign.py",
    "job/__init__.py",
    "lazy.py",
    "py.typed",
)
_LIBRARIES: Final = ("javaproperties", "tenacity")
_VAULT: Final = ("hvac", "requests", "urllib3", "idna", "certifi", "charset-normalizer")
_LEFT_OUT: Final = re.compile(r"\.(?:so|pyd|pyc)$|^catalogue_notes\.json$")
"""Compiled modules, and the documentation of Spark's keys, which no driver reads."""

_USAGE: Final = "usage: python -m airflow_config_providers.spark.bundle DRIVER.zip"


def write_bundle(path: Path) -> Sequence[str]:
    """
    Write the zip, in place of an earlier one once it is complete.

    :return: the names of Vault's libraries that are not installed here, and so are missing in the zip
    :raises ConfigException: a library that every provider needs is not installed
    :raises OSError: the file cannot be written
    """
    found = {name: _found(name) for name in (_DISTRIBUTION, *_LIBRARIES, *_VAULT)}
    missing = [name for name, distribution in found.items() if distribution is None]
    needed = [name for name in missing if name not in _VAULT]
    if needed:
        raise ConfigException(f"{' and '.join(needed)}: not installed. Install this package with its dependencies.")
    _write(path, filter(None, found.values()))
    return missing


def main(arguments: Sequence[str]) -> int:
    """Run the command, and return its exit code."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(_USAGE, file=sys.stderr)  # noqa: T201 - a command
        return 2
    missing = write_bundle(Path(arguments[0]))
    if missing:
        print(f"Missing: {', '.join(missing)}. Drivers cannot use Vault.", file=sys.stderr)  # noqa: T201 - a command
    return 0


def _found(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _write(path: Path, libraries: Iterable[Distribution]) -> None:
    target = path.resolve()
    with whole_file(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in chain(_own(), *map(_of, libraries)):
            bundle.writestr(name, content)
        if target.exists():
            shutil.copymode(target, file.name)


def _own() -> Iterator[tuple[str, bytes]]:
    package = files(_PACKAGE)
    for module in _MODULES:
        yield f"{_PACKAGE}/{module}", package.joinpath(module).read_bytes()
    for part in _PARTS:
        yield from _below(package.joinpath(part), f"{_PACKAGE}/{part}")


def _below(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir() and item.name != "__pycache__":
            yield from _below(item, f"{name}/{item.name}")
        elif item.is_file() and not _LEFT_OUT.search(item.name):
            yield f"{name}/{item.name}", item.read_bytes()


def _of(library: Distribution) -> Iterator[tuple[str, bytes]]:
    """Yield the metadata of a library and its modules, but not those of this package, which ``_own`` yields."""
    metadata = f"{library.name.replace('-', '_')}-{library.version}.dist-info"
    for name in ("METADATA", "entry_points.txt"):
        text = library.read_text(name)
        if text is not None:
            yield f"{metadata}/{name}", text.encode()
    for file in library.files or ():
        is_module = ".dist-info" not in file.parts[0] and ".." not in file.parts and "__pycache__" not in file.parts
        if library.name != _DISTRIBUTION and is_module and not _LEFT_OUT.search(file.name):
            yield file.as_posix(), Path(str(file.locate())).read_bytes()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
