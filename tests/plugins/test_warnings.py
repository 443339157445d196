"""What a policy only warns of, in the answer of a server to a change."""

from __future__ import annotations

from tests.plugins.serving import Server, set_


def test_a_policy_that_only_warns_lets_a_change_pass_and_its_answer_says_so(server: Server):
    server.policies.write_text(
        "policies: [{name: soft, enforcement: warn, class: forbidden_keys, params: {keys: [spark.app.x]}}]\n"
    )

    answer = server.alter("ann", "/dags/flights/tasks/report", set_("spark.app.x", "1"))

    assert answer.status_code == 200
    (warning,) = answer.json()["rows"][0]["warnings"]
    assert warning.startswith("Policy 'soft' only warns, and would deny the change of task 'report' of DAG 'flights': ")
    assert warning in answer.json()["notes"]
