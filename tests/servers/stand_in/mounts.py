"""What hangs where."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.servers.stand_in.answers import Answer, Json, Refusal, identifier, no_route
from tests.servers.stand_in.call import Call, Engine


@dataclass(slots=True)
class Mount:
    """
    An engine or an auth method where it hangs.

    :param prefix: ``auth_`` for an auth method
    :param passed: headers that the engine gets to see
    :param about: what is different in its description
    """

    type: str
    engine: Engine
    options: Json | None = field(default_factory=dict)
    prefix: str = ""
    passed: Sequence[str] = ()
    about: Json = field(default_factory=dict)
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    accessor: str = ""

    def __post_init__(self) -> None:
        self.accessor = self.accessor or f"{self.prefix}{self.type}_{identifier(8).lower()}"

    def state(self) -> Json:
        """Describe it, as ``sys/mounts`` does."""
        config: Json = {"default_lease_ttl": 0, "force_no_cache": False, "max_lease_ttl": 0}
        if self.passed:
            config["passthrough_request_headers"] = list(self.passed)
        return {
            "accessor": self.accessor,
            "config": config | ({"token_type": "default-service"} if self.prefix else {}),
            "deprecation_status": "supported",
            "description": "",
            "external_entropy_access": False,
            "local": False,
            "options": self.options,
            "plugin_version": "",
            "running_plugin_version": "",
            "running_sha256": "",
            "seal_wrap": False,
            "type": self.type,
            "uuid": self.uuid,
        } | self.about


class MountTable:
    """Mounts by their paths, each with its last slash."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._mounts: dict[str, Mount] = {}

    def __iter__(self) -> Iterator[tuple[str, Mount]]:
        return iter(sorted(self._mounts.items()))

    def get(self, path: str) -> Mount | None:
        """Return what is mounted exactly at ``path``."""
        return self._mounts.get(path)

    def add(self, path: str, mount: Mount) -> None:
        """Hang ``mount`` at ``path``, unless that is taken."""
        taken = next((name for name in self._mounts if path.startswith(name) or name.startswith(path)), None)
        if taken is not None:
            raise Refusal(400, f"path is already in use at {taken}")
        self._mounts[path] = mount

    def remove(self, path: str) -> None:
        """Take away what hangs at ``path``."""
        self._mounts.pop(path, None)

    def find(self, path: str) -> tuple[str, Mount] | None:
        """Return the mount at or above ``path``."""
        found = (item for item in self._mounts.items() if f"{path}/".startswith(item[0]))
        return next(found, None)

    def answer(self, call: Call) -> Answer:
        """Hand ``call`` on to what hangs at its path."""
        path = call.path.removeprefix(self.prefix)
        found = self.find(path)
        if found is None:
            raise no_route(call.path)
        mount, hangs = found
        below = path.removeprefix(mount) if path.startswith(mount) else ""
        return hangs.engine.answer(call.below(self.prefix + mount, below))
