"""Reverses what hooks have given to Airflow's collector of lineage, which plugins such as OpenLineage send on."""

from __future__ import annotations

import copy
import logging
import sys
from collections.abc import Callable
from typing import Any

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.foreign import LINEAGE, require
from airflow_config_providers.operators.reversal.stored_objects import reverse_stored

_log = logging.getLogger(__name__)

_Entry = tuple[Any, ...]
"""What the collector keeps of one asset, or of one extra. Its last part is the hook."""


def reverse_lineage(reverser: ReverseTransformer) -> None:
    """
    Replace values by references in the statements, parameters and assets that hooks of this process have reported.

    Plugins read them only when a task has ended, so this is in time at the end of ``execute``. What cannot be reversed
    is dropped.
    """
    collector = _collector() if reverser else None
    if collector is None:
        return
    try:
        require(LINEAGE)
        _CollectorReversal(collector, reverser).run()
    except Exception:  # noqa: BLE001 - of a foreign object; the job has run, and must not fail because of its lineage
        _log.warning("The lineage that hooks reported is dropped: it could not be searched for values.")
        _forget()


def _collector() -> Any:
    """Return the collector of this process; None if no hook has asked for it, since making one takes seconds."""
    lineage = sys.modules.get("airflow.sdk.lineage")  # a hook that asks imports it
    if lineage is None:
        return None
    count = getattr(lineage.get_hook_lineage_collector, "cache_info", None)
    return None if count is not None and not count().currsize else lineage.get_hook_lineage_collector()


def _forget() -> None:
    from airflow.sdk import lineage

    lineage.get_hook_lineage_collector.cache_clear()


class _CollectorReversal:
    """Replaces the entries of one collector."""

    def __init__(self, collector: Any, reverser: ReverseTransformer) -> None:
        self._collector = collector
        self._reverser = reverser

    def run(self) -> None:
        of = self._collector
        self._replace(of._inputs, of._input_counts, self._reversed_asset, of._generate_asset_entry_id)
        self._replace(of._outputs, of._output_counts, self._reversed_asset, of._generate_asset_entry_id)
        self._replace(of._extra, of._extra_counts, self._reversed_extra, of._generate_extra_entry_id)

    def _replace(
        self,
        entries: dict[str, _Entry],
        counts: dict[str, int],
        reversed_: Callable[[_Entry], _Entry],
        id_of: Callable[..., str],
    ) -> None:
        """Replace ``entries`` in their order. Two that differ only in values become one."""
        found, found_counts = dict(entries), dict(counts)
        entries.clear()
        counts.clear()
        for old, entry in found.items():
            shown = reversed_(entry)
            new = old if shown is entry else id_of(*shown)  # an ID contains the URI
            entries.setdefault(new, shown)
            counts[new] = counts.get(new, 0) + found_counts[old]

    def _reversed_asset(self, entry: _Entry) -> _Entry:
        asset, hook = entry
        parts = {name: getattr(asset, name) for name in ("name", "uri", "group", "extra")}
        changed = {name: shown for name, part in parts.items() if (shown := self._shown(part)) is not part}
        if not changed:
            return entry
        asset = copy.copy(asset)
        for name, shown in changed.items():
            object.__setattr__(asset, name, shown)  # its own would refuse the URI of some references
        return asset, hook

    def _reversed_extra(self, entry: _Entry) -> _Entry:
        key, value, hook = entry
        shown_key, shown = self._shown(key), self._shown(value)
        return entry if shown_key is key and shown is value else (shown_key, shown, hook)

    def _shown(self, value: object) -> object:
        return reverse_stored(value, self._reverser)
