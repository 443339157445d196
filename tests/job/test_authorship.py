"""What is kept of the templates of a job when they are rendered."""

from __future__ import annotations

from airflow_config_providers import ConfiguredSparkSubmitOperator
from airflow_config_providers.job.authorship import Authorship
from airflow_config_providers.job.nested_texts import NestedString

CANARY = "c4nary-of-a-template"


def test_what_a_template_became_is_forgotten_with_it() -> None:
    task = ConfiguredSparkSubmitOperator(task_id="task", application="job.py")
    template, text = (NestedString("conf['k']", string) for string in ("{{ x }}", f"{CANARY} ${{env.HOME}}"))
    authorship = Authorship()
    authorship.render(task, lambda: None, before=[template], after=lambda: [text])
    assert CANARY in str(vars(authorship))

    authorship.forget_templates()

    assert CANARY not in str(vars(authorship))
