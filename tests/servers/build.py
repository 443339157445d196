"""
Builds the real Vault of the tests with Go: ``python -m tests.servers.build``.

The binary is kept outside the tree, under the user's cache folder, by a hash of its sources and the version of Go.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

SOURCES = Path(__file__).parent / "vault"


def cached_binary() -> Path | None:
    """Return the binary that was built from these sources before, if there is one."""
    version = _go_version()
    found = sorted(cache_folder().glob(f"vault-{_fingerprint()}-{version or '*'}"))
    return found[-1] if found else None


def built_binary() -> Path:
    """Return the binary, and build it first if it does not exist."""
    return cached_binary() or _build()


def _build() -> Path:
    version = _go_version()
    if version is None:
        raise RuntimeError("Go is not on this machine: install it, or point VAULT_ADDR and VAULT_TOKEN to a Vault")
    target = cache_folder() / f"vault-{_fingerprint()}-{version}"
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "building").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever needs it meanwhile waits for it, rather than build another
        if not target.exists():
            _compile(target)
    return target


def _compile(target: Path) -> None:
    unfinished = target.with_suffix(f".{os.getpid()}")
    # What a debugger wants is not compiled, or linked, and no function becomes a part of its callers: to compile that
    # takes a quarter of the time, and no test waits for Vault to compute.
    quick = ["-gcflags=all=-dwarf=false -l", "-ldflags=-s -w"]
    command = ["go", "build", "-trimpath", "-buildvcs=false", *quick, "-o", str(unfinished), "."]
    subprocess.run(command, cwd=SOURCES, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    unfinished.replace(target)


def _fingerprint() -> str:
    files = sorted(path for path in SOURCES.rglob("*") if path.suffix in {".go", ".mod", ".sum"})
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]


def cache_folder() -> Path:
    """Return the folder of what the tests build or fetch once for all checkouts of a user."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "airflow-config-providers"


def _go_version() -> str | None:
    if shutil.which("go") is None:
        return None
    return subprocess.run(
        ["go", "env", "GOVERSION"], cwd=SOURCES, capture_output=True, text=True, check=True
    ).stdout.strip()


def main() -> int:
    """Build, unless it is built, and say where the binary is."""
    started, before = time.monotonic(), cached_binary()
    if before is not None:
        print(before)
        return 0
    print("Building the Vault server of the tests with Go: minutes the first time ...", file=sys.stderr)
    try:
        print(_build())
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Built in {time.monotonic() - started:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
