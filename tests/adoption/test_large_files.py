"""Generated DAG files have thousands of tasks: the time for one grows with its length, and no faster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from airflow_config_providers.adoption.file_proposal import FileProposal, Replacement
from airflow_config_providers.adoption.proof import differences
from airflow_config_providers.lint.dag_files import DagFile
from airflow_config_providers.lint.entry import StoredJob
from tests.adoption.proposing import proposal_of


def seconds(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def mappings(count: int) -> str:
    each = 'c{0} = {{"spark.a": "1"}}\nSparkSubmitOperator(task_id="t{0}", conf=c{0})\n'
    return "".join(each.format(number) for number in range(count))


def reads(count: int) -> str:
    each = '    x{0} = Variable.get("v{0}")\n'
    made = "".join(each.format(number) for number in range(count))
    return f"from airflow.sdk import Variable\ndef make():\n{made}"


def attributes(count: int) -> str:
    return "".join(f"y{number} = z{number}.conf\n" for number in range(count))


@pytest.mark.parametrize("written", [mappings, reads, attributes])
def test_a_proposal_takes_time_linear_in_the_length_of_the_file(written: Callable[[int], str]):
    few, many = written(150), written(1500)
    proposal_of(few)

    assert seconds(lambda: proposal_of(many)) < 0.2 + 20 * min(seconds(lambda: proposal_of(few)) for _ in range(3))


@pytest.mark.slow
def test_a_proof_takes_about_as_long_for_many_references_as_for_none():
    def file(text: str) -> DagFile:
        jobs = ((f"t{number}", text.format(number)) for number in range(3000))
        return DagFile(stored=tuple(StoredJob("d", task, json.dumps({"texts": {"env": one}})) for task, one in jobs))

    proposal = FileProposal(
        "x.py", "", replacements=tuple(Replacement(f"t{n}", "env", f"${{v:a:{n}}}", is_conf=False) for n in range(3000))
    )
    before, after = file("x"), file("${{v:a:{0}}}")

    def proved() -> None:
        assert differences(proposal, [before], after, [], "") == []

    def compared() -> None:
        assert differences(FileProposal("x.py", ""), [before], before, [], "") == []

    compared()
    assert seconds(proved) < 0.2 + 2 * seconds(compared)
