"""The commands after a job: they run once, with their values, and never replace the result of the job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from airflow_config_providers.exceptions import ConfigException, SubmitError
from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook
from airflow_config_providers.job.run import JobRun

REFERENCE = "${vault:apps/db:password}"
RUN_ONCE = hasattr(SparkSubmitHook(), "_post_submit_commands_done")


def no_submission(conf: object, prefix: object, values: object) -> NoReturn:
    """Refuse, as after a kill while a reload is watched; for a driver, it would ask Vault for a secret ID."""
    raise SubmitError("The task was killed while its job was restarted. Nothing was submitted.")


def known(commands: Sequence[str]) -> list[str]:
    return [command.replace(REFERENCE, "c4nary") for command in commands]


def cleared(commands: Sequence[str]) -> NoReturn:
    raise ConfigException("This resolved configuration was cleared.")


def of_another_package(commands: Sequence[str]) -> NoReturn:
    raise ValueError("c4nary")


def hook_with(*commands: str, resolve_commands=known, withheld=(), kind=SparkSubmitHook) -> ConfiguredSparkSubmitHook:
    run = JobRun()
    run.withheld = frozenset(withheld)
    return ConfiguredSparkSubmitHook.of(
        kind(post_submit_commands=list(commands)),
        submission=no_submission,
        run=lambda: run,
        resolve_commands=resolve_commands,
    )


def test_commands_get_their_values_without_another_submission(tmp_path: Path) -> None:
    hook_with(f"sh -c 'printf %s {REFERENCE} > {tmp_path}/told'").on_kill()

    assert (tmp_path / "told").read_text() == "c4nary"


def test_the_hook_keeps_no_value_of_a_command() -> None:
    hook = hook_with(f"true {REFERENCE}")
    hook._run_post_submit_commands()

    assert "c4nary" not in repr(vars(hook))


@pytest.mark.skipif(not RUN_ONCE, reason="older releases of the Spark provider run them at each call")
def test_commands_that_have_run_are_not_resolved_again() -> None:
    asked: list[Sequence[str]] = []
    hook = hook_with(f"true {REFERENCE}", resolve_commands=lambda commands: asked.append(commands) or known(commands))
    hook._run_post_submit_commands()
    hook._run_post_submit_commands()

    assert asked == [[f"true {REFERENCE}"]]


def test_a_command_without_a_reference_runs_when_the_others_have_no_value(tmp_path: Path) -> None:
    hook_with(f"touch {tmp_path}/ran", f"touch {tmp_path}/{REFERENCE}", resolve_commands=cleared).on_kill()

    assert [file.name for file in tmp_path.iterdir()] == ["ran"]


def test_a_warning_says_why_a_command_does_not_run(caplog: pytest.LogCaptureFixture, capfd) -> None:
    hook_with(f"true {REFERENCE}", resolve_commands=cleared)._run_post_submit_commands()

    logged = caplog.text + "".join(capfd.readouterr())
    assert "Post-submit commands with references do not run: they have no values. This resolved config" in logged


def test_a_warning_has_no_message_of_another_package(caplog: pytest.LogCaptureFixture, capfd) -> None:
    hook_with(f"true {REFERENCE}", resolve_commands=of_another_package)._run_post_submit_commands()

    logged = caplog.text + "".join(capfd.readouterr())
    assert "they have no values. ValueError" in logged
    assert "c4nary" not in logged


class Noting(SparkSubmitHook):
    """A hook that notes which commands it would run."""

    noted: tuple[str, ...] = ()

    def _run_post_submit_commands(self) -> None:
        self.noted = tuple(self._post_submit_commands)


def test_only_a_command_runs_without_what_it_must_not_inherit() -> None:
    """With nothing to run, ``env`` would print the environment."""
    hook = hook_with("touch x", " ", withheld=["SECRET"], kind=Noting)
    hook._run_post_submit_commands()

    assert hook.noted == ("env -u SECRET touch x", " ")
