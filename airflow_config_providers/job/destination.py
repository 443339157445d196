"""Where a job runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Destination:
    """
    Where a job runs, as far as its connection says.

    :param prefixes: the prefixes under which environment variables are keys of Spark
    :param is_remote: returns whether its driver runs on another machine, given the settled configuration
    :param absent: returns the id of a connection that was not found, for which a stock hook assumes YARN; otherwise an
        empty string. Asking takes time
    """

    prefixes: Collection[str] = ()
    is_remote: Callable[[Mapping[str, str]], bool] = lambda _: False
    absent: Callable[[], str] = lambda: ""
