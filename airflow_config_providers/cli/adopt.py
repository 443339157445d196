"""The command that proposes references and layer files for DAGs that have none yet."""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

from airflow_config_providers.adoption.adopter import LAYERS, Adoption, AdoptRequest, proposed
from airflow_config_providers.adoption.proof import ENVIRONMENT
from airflow_config_providers.adoption.references import Providers
from airflow_config_providers.cli.arguments import seconds
from airflow_config_providers.cli.failing import WrongArgumentsError, reporting_errors, say
from airflow_config_providers.cli.output import progress
from airflow_config_providers.core.text import one_line, printable
from airflow_config_providers.exceptions import ConfigException, system_reason, translating
from airflow_config_providers.lint.dag_process import AirflowProcess


@reporting_errors
def adopt(args: Any) -> None:
    """Print a patch, or write it into a new folder, and report what stays by hand."""
    with AirflowProcess(ENVIRONMENT) as origin:
        adopt_with(origin, args)


def adopt_with(origin: AirflowProcess, args: Any) -> None:
    """Do the same with copies of a process that is there."""
    _refuse_existing(args.write)
    found = proposed(_request(args), progress, origin)
    if args.write:
        _write(found, Path(args.write))
    if args.output == "json":
        sys.stdout.write(f"{json.dumps(_document(found), indent=2)}\n")
    else:
        sys.stdout.write("" if args.write else found.patch())
        sys.stdout.flush()
        say(_report(found))


def _request(args: Any) -> AdoptRequest:
    if args.shared_by < 2:
        raise WrongArgumentsError("--shared-by must be at least 2.")
    return AdoptRequest(
        args.paths,
        args.operators == "classes",
        least=args.shared_by,
        layers_folder=(args.layers_folder or "").rstrip("/"),
        seconds=seconds(args),
        providers=Providers(args.connection_provider, args.variable_provider),
    )


def _refuse_existing(folder: str | None) -> None:
    if folder and os.path.exists(folder):  # noqa: PTH110 - writing says what is wrong with a name that is too long
        raise WrongArgumentsError(f"--write: '{printable(folder)}' exists already. Name a new folder.")


def _write(found: Adoption, folder: Path) -> None:
    with translating(OSError, partial(_unwritten, folder)):
        folder.mkdir(mode=0o700, parents=True)
        try:
            _fill(folder, found)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _unwritten(folder: Path, error: OSError) -> ConfigException:
    return ConfigException(
        f"--write: '{printable(str(folder))}' cannot be written: {system_reason(error)}. Choose another folder. "
        f"Nothing was left in this one."
    )


def _fill(folder: Path, found: Adoption) -> None:
    (folder / LAYERS).mkdir()
    (folder / "adopt.patch").write_bytes(found.patch().encode())
    (folder / "report.txt").write_bytes(_report(found).encode())
    for layer in found.layers:
        (folder / LAYERS / layer.name).write_bytes(layer.text.encode())


def _document(found: Adoption) -> dict[str, Any]:
    return {
        "root": str(found.root),
        "patch": found.patch(),
        "layers": [{"name": one.name, "jobs": one.jobs, "keys": len(one.configs)} for one in found.layers],
        "advice": list(found.advice),
        "by_hand": [one.row() for one in found.by_hand],
        "summary": found.summary(),
    }


def _report(found: Adoption) -> str:
    lines = [*(f"by hand: {one}" for one in found.by_hand), *(f"to do: {one}" for one in found.advice), found.summary()]
    return "".join(f"{one_line(line)}\n" for line in lines)
