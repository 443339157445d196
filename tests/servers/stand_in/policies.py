"""Who may do what, as far as policies written in JSON say it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field

CAPABILITIES = {
    "GET": frozenset({"read"}),
    "HEAD": frozenset({"read"}),
    "OPTIONS": frozenset({"read"}),
    "LIST": frozenset({"list"}),
    "POST": frozenset({"create", "update"}),
    "PUT": frozenset({"create", "update"}),
    "PATCH": frozenset({"patch"}),
    "DELETE": frozenset({"delete"}),
}
DEFAULT = {
    "auth/token/lookup-self": ["read"],
    "auth/token/renew-self": ["update"],
    "auth/token/revoke-self": ["update"],
    "sys/capabilities-self": ["update"],
    "sys/leases/renew": ["update"],
    "sys/leases/lookup": ["update"],
    "sys/renew": ["update"],
    "identity/oidc/provider/+/authorize": ["read", "update"],
    "cubbyhole/*": ["create", "read", "update", "delete", "list"],
}
FOR_SUDO = (
    "auth/token/accessors",
    "sys/auth/",
    "sys/leases/lookup/",
    "sys/leases/revoke-prefix/",
    "sys/revoke-prefix/",
)

Rules = dict[str, list[str]]


@dataclass(slots=True)
class Policies:
    """The policies of a server, by name; ``root`` is not among them, because it has no rules."""

    rules: dict[str, Rules] = field(default_factory=lambda: {"default": dict(DEFAULT)})

    def write(self, name: str, text: str) -> None:
        """Take the policy ``text``, in JSON or in plain HCL."""
        self.rules[name] = _rules(text)

    def allow(self, names: Collection[str], method: str, path: str) -> bool:
        """Return whether a token with these policies has permission."""
        if "root" in names:
            return True
        granted = self.capabilities(names, path)
        return bool(CAPABILITIES[method] & granted) and ("sudo" in granted or not path.startswith(FOR_SUDO))

    def is_sudo(self, names: Collection[str], path: str) -> bool:
        """Return whether a token with these policies may do what otherwise only root may do."""
        return "root" in names or "sudo" in self.capabilities(names, path)

    def capabilities(self, names: Collection[str], path: str) -> set[str]:
        """Return what the strongest matching rules of all policies grant together; ``deny`` overrides everything."""
        rules = [(rule, granted) for name in names for rule, granted in self.rules.get(name, {}).items()]
        matching = [(rule, granted) for rule, granted in rules if _matches(rule, path)]
        if not matching:
            return set()
        strongest = max(_strength(rule) for rule, _ in matching)
        granted = {word for rule, words in matching if _strength(rule) == strongest for word in words}
        return set() if "deny" in granted else granted

    def touch(self, names: Collection[str], prefix: str) -> bool:
        """Return whether these policies grant anything at or below ``prefix``."""
        rules = [(rule, granted) for name in names for rule, granted in self.rules.get(name, {}).items()]
        return "root" in names or any(
            "deny" not in granted and (rule.startswith(prefix) or _matches(rule, prefix)) for rule, granted in rules
        )


def _rules(text: str) -> Rules:
    try:
        paths = json.loads(text)["path"]
    except (ValueError, KeyError, TypeError):
        blocks = re.findall(r'path\s+"([^"]*)"\s*\{[^}]*?capabilities\s*=\s*\[([^\]]*)\]', text)
        return {path: re.findall(r'"([^"]*)"', words) for path, words in blocks}
    return {path: list(rule["capabilities"]) for path, rule in paths.items()}


def _matches(rule: str, path: str) -> bool:
    pattern = "/".join("[^/]+" if part == "+" else re.escape(part) for part in rule.removesuffix("*").split("/"))
    return re.fullmatch(pattern + (".*" if rule.endswith("*") else ""), path) is not None


def _strength(rule: str) -> tuple[bool, int, bool, int, int]:
    """Order rules as Vault does: the later the first wildcard, the stronger; none is strongest."""
    wild = re.search(r"(?<![^/])\+(?![^/])|\*$", rule)
    pluses = len(re.findall(r"(?<![^/])\+(?![^/])", rule))
    return wild is None, wild.start() if wild else 0, not rule.endswith("*"), -pluses, len(rule)
