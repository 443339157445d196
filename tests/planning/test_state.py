"""The states of a deployment, and files with the variables of another environment."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.planning.state import State, read_environment


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("A=1\nB=2", {"A": "1", "B": "2"}, id="lines"),
        pytest.param("# A=1\n\n  # B=2\nC=3", {"C": "3"}, id="comments"),
        pytest.param("A=b=c", {"A": "b=c"}, id="equals-sign-in-the-value"),
        pytest.param("A='x' # y", {"A": "'x' # y"}, id="quotes-belong-to-the-value"),
        pytest.param("A=", {"A": ""}, id="empty"),
        pytest.param("A=1\r\nB=2\r\n", {"A": "1", "B": "2"}, id="line-ends-of-windows"),
        pytest.param("A=b\x0cC=d\n", {"A": "b\x0cC=d"}, id="form-feed-in-the-value"),
        pytest.param("A=b\u2028C=d\n", {"A": "b\u2028C=d"}, id="line-separator-of-unicode-in-the-value"),
    ],
)
def test_variables_are_read_as_docker_reads_them(text: str, expected: dict[str, str]):
    assert read_environment(text, name="x.env") == expected


def test_every_wrong_line_is_named_without_its_text():
    with pytest.raises(ConfigException) as caught:
        read_environment("A=1\nc4nary\n=c4nary\n", name="x.env")

    assert [problem.partition(": ")[0] for problem in caught.value.problems] == ["x.env:2", "x.env:3"]
    assert "c4nary" not in str(caught.value)


def test_the_layers_of_a_task_are_computed_once():
    task, asked = ConfigResource.of_task("flights", "report"), []
    state = State({task: AuthoredJob()}, lambda one: [asked.append(one)][:0], lambda path, warn: None, {})

    for _ in range(3):
        state.layers(task, warn=print)

    assert asked == [task]
