"""Who a command says made a change."""

from __future__ import annotations

import os
import pwd

import pytest

from airflow_config_providers.deployment.admin import user
from tests.servers import quick_python


def test_the_user_is_that_of_the_process_whatever_variables_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "mallory")

    assert user() == pwd.getpwuid(os.geteuid()).pw_name


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without a name")
def test_a_user_without_a_name_is_a_number() -> None:
    code = "import os; from airflow_config_providers.deployment.admin import user; os.seteuid(4_000_001); print(user())"

    done = quick_python.run("-c", code, env=os.environ)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "4000001"
