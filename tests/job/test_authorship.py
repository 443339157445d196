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


def test_a_string_that_was_not_filled_in_has_the_references_it_has_in_the_dag() -> None:
    reference = "${vault:apps/db:password}"
    written, authorship = NestedString("a", reference), Authorship()
    task = ConfiguredSparkSubmitOperator(task_id="task", application="job.py")
    authorship.render(task, lambda: None, before=[written], after=lambda: [written])

    assert authorship.is_written(NestedString("a", reference))
    assert not authorship.is_written(NestedString("a", f"{reference} {reference}"))
    assert not authorship.is_written(NestedString("b", reference))
    assert authorship.is_written(NestedString("b", "plain"))
    authorship.add_written([NestedString("b", reference)])
    assert authorship.is_written(NestedString("b", reference))
