"""What is proposed for one file, and what is reported in it."""

from __future__ import annotations

import pytest

from tests.adoption.proposing import USER, proposal_of

REFERENCE = '"spark.app.user": "${connection:db:login}"'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'A = {{{USER}}}\nSparkSubmitOperator(conf=A | {{"spark.app.x": "1"}})\n', id="left"),
        pytest.param(f'A = {{"spark.app.x": "1"}}\nSparkSubmitOperator(conf=A | {{{USER}}})\n', id="right"),
        pytest.param(f"A = B = {{}}\nSparkSubmitOperator(conf=A | {{{USER}}} | B)\n", id="three"),
        pytest.param(f'SparkSubmitOperator(conf={{**({{{USER}}} | {{"spark.app.x": "1"}})}})\n', id="included"),
        pytest.param(f"A = {{}}\nSparkSubmitOperator(conf=made() | {{{USER}}})\n", id="beside a function"),
    ],
)
def test_a_template_in_a_union_of_mappings_becomes_a_reference(text: str):
    assert REFERENCE in proposal_of(text).after


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        pytest.param('files="https://me:hunter2@example.com/x.conf"', "files", id="file"),
        pytest.param('py_files="{{ var.value.x }},https://me:hunter2@example.com/x.zip"', "py_files", id="beside"),
        pytest.param('application_args=["--url", "jdbc:x://h/d?password=hunter2"]', "application_args", id="argument"),
    ],
)
def test_a_secret_that_is_written_out_in_an_argument_is_reported_with_its_name_alone(argument: str, name: str):
    reasons = [one.reason for one in proposal_of(f"SparkSubmitOperator({argument})\n").by_hand]

    assert any(reason.startswith(f"{name}: a secret is written out.") for reason in reasons)
    assert "hunter2" not in "".join(reasons)


@pytest.mark.parametrize(
    "argument",
    [
        pytest.param('files="https://me:{{ conn.x.password }}@example.com/x.conf"', id="template"),
        pytest.param('files="https://me:${connection:x:password}@example.com/x.conf"', id="reference"),
        pytest.param('files="s3://bucket/token=ETH/x.parquet"', id="partition"),
    ],
)
def test_an_argument_without_a_secret_is_not_reported_as_one(argument: str):
    found = proposal_of(f"SparkSubmitOperator({argument})\n")

    assert not [one for one in found.by_hand if "a secret is written out" in one.reason]
