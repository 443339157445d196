"""
Link the packages of one environment into another, those that its constraints name at the same version.

    python .ci/link_packages.py SITE_PACKAGES OTHER_SITE_PACKAGES CONSTRAINTS

They are what pip would download and unpack once more, with what Python has compiled of them.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from importlib.util import cache_from_source
from pathlib import Path


def versions(site: Path) -> dict[str, Distribution]:
    """Return what is installed, by a name that is spelled in one way."""
    return {normal(found.name): found for found in distributions(path=[str(site)])}


def normal(name: str) -> str:
    """Return the spelling that all spellings of a name share."""
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted(constraints: Path) -> Iterator[tuple[str, str]]:
    """Return the names and the versions in a file."""
    for line in constraints.read_text().splitlines():
        name, is_pin, version = line.partition(" ")[0].partition("==")
        if is_pin:
            yield normal(name), version


def files(package: Distribution) -> Iterator[Path]:
    """Return the files of a package, and where Python keeps what it has compiled of them."""
    for file in map(Path, package.files or ()):
        yield file
        if file.suffix == ".py":
            yield Path(cache_from_source(str(file)))


def link(package: Distribution, site: Path, other: Path) -> None:
    """Link the files of a package; a script is a copy that begins with the Python of its own environment."""
    for file in files(package):
        source, target = (Path(folder, file).resolve() for folder in (site, other))
        if source.exists() and not target.exists():  # pyspark and pyspark-client have the same files
            target.parent.mkdir(parents=True, exist_ok=True)
            if site in source.parents:
                target.hardlink_to(source)
            else:
                shutil.copy(source, target)
                target.write_bytes(source.read_bytes().replace(bytes(site.parents[2]), bytes(other.parents[2])))


def main(site: Path, other: Path, constraints: Path) -> None:
    """Link what is not there yet, at any version."""
    if site.parts[-2:] != other.parts[-2:] or site.stat().st_dev != other.stat().st_dev:
        return  # another version of Python, or another file system
    installed, there = versions(site), versions(other)
    for name, version in wanted(constraints):
        if name not in there and name in installed and installed[name].version == version:
            link(installed[name], site, other)


if __name__ == "__main__":
    main(*(Path(word).resolve() for word in sys.argv[1:]))
