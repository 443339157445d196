"""Proposals for DAG files, and their patches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from airflow_config_providers.adoption.adopter import Adoption
from airflow_config_providers.adoption.file_proposal import FileProposal, FileProposer, ProposalRules
from airflow_config_providers.adoption.references import Providers

STOCK = "from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator\n"
USER = '"spark.app.user": "{{ conn.db.login }}"'


def proposal_of(text: str, *, below: Mapping[str, str] | None = None, classes: bool = False) -> FileProposal:
    rules = ProposalRules(Providers(), below or {}, uses_classes=classes)
    return FileProposer("x.py", f"{STOCK}{text}", rules).proposal()


def patch_of(found: FileProposal) -> str:
    return Adoption([found], [], [], [], Path.cwd()).patch()


def patch_around(statement: str) -> str:
    """Return the patch of a file with changes between ``statement``, which is there three times."""
    call = f"SparkSubmitOperator(\n    conf={{\n        {USER},\n    }}\n)"
    return patch_of(proposal_of(f"{statement}\n{call}\n{statement}\n{call}\n{statement}\n", classes=True))


def removal_of(value: str, *, beside: str) -> FileProposal:
    """Return the proposal for a file with ``beside``, and with an entry that every job has anyway."""
    call = f'SparkSubmitOperator(\n    conf={{\n        "spark.app.x": "{value}",\n    }}\n)'
    return proposal_of(f"{beside}\n{call}\n", below={"spark.app.x": value})
