"""The command that has processes read the values of their references again."""

from __future__ import annotations

from functools import partial
from typing import Any

from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.output import show
from airflow_config_providers.cli.target import check, configurations


@reporting_errors
def refresh(args: Any) -> None:
    """Have the values of references read again, and show the resources that this concerns."""
    resource, _ = arguments.together(partial(arguments.resource, args), partial(check, args))
    show(configurations(args, Notes()).refresh(resource), args.output)
