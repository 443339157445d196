"""
The commands of ``airflow config-providers``.

Every call of ``airflow`` loads this module, so it imports nothing else that is not loaded by then.
"""

from __future__ import annotations

from typing import Any, Final

from airflow.cli.cli_config import ARG_OUTPUT, ActionCommand, GroupCommand, lazy_load_command

from airflow_config_providers.cli import options

_CODES: Final = """
exit codes:
  0 done                      3 refused: the request is wrong
  2 wrong arguments           4 denied: a policy denies it, or you lack permission
                              5 unavailable: try again later
"""

_UNCHANGED: Final = """
A nonzero exit code means that nothing changed, unless the error says that a server did not answer, or that
the change was made completely or not at all.
"""

_OWN_CODES: Final = ""
"""For a command whose epilog has the exit codes."""

_EPILOGS: Final = {
    "describe.describe": """examples:
  airflow config-providers describe --dag flights --task report
  airflow config-providers describe --default --all --output json
  airflow config-providers describe --dag flights --task report --key spark.executor.memory --synonyms
  airflow config-providers describe --dag flights --task report --why-not spark.executor.memory=8g

With --run RUN_ID, it shows what the task had in a run, and with --diff A B what differs.
With --server, the command uses the REST interface of that deployment, with your permissions there.
""",
    "changes.alter": """examples:
  airflow config-providers alter --dag flights --add-config spark.executor.memory=8g
  airflow config-providers alter --dag flights --task report --delete-config spark.executor.memory
  airflow config-providers alter --default --append spark.jars.packages=org.postgresql:postgresql:42.7.4
  airflow config-providers alter --dag flights --add-config 'spark.app.db.password=${vault:apps/db:password}'
  airflow config-providers alter --dag flights --add-config-file changes.properties --validate-only

Put plain-text secrets in --add-config-file: other users of the machine can read the command line.
"""
    + _UNCHANGED,
    "changes.history": """examples:
  airflow config-providers history --dag flights
  airflow config-providers history --dag flights --task report --output json
""",
    "changes.rollback": """examples:
  airflow config-providers rollback --dag flights
  airflow config-providers rollback --dag flights --to-version 3 --validate-only
  airflow config-providers rollback --dag flights --to-version 0

A second rollback takes back the first. To go further back, name a version of the history, or 0.
"""
    + _UNCHANGED,
    "changes.refresh": """examples:
  airflow config-providers refresh --dag flights
  airflow config-providers refresh --dag flights --task report --output json

Use it after a secret was rotated. No configuration changes. Running jobs with config.reload.action=restart
read their values again too; other jobs read values when they start.
"""
    + _UNCHANGED,
    "bisect.bisect": """examples:
  airflow config-providers bisect --dag flights --task report
  airflow config-providers bisect --dag flights --task report --output json

Each row is a key that differs, and who changed it. It needs the records of both runs.
""",
    "describe.references": """examples:
  airflow config-providers references
  airflow config-providers references '${vault:apps/db:*}' --output json
""",
    "plan.plan": """examples:
  airflow config-providers plan --dag flights --add-config spark.executor.memory=8g
  airflow config-providers plan --default --add-config-file changes.properties --output json
  airflow config-providers plan --replace-file conf/base.properties=conf/base.next.properties
  airflow config-providers plan --environment production.env
  airflow config-providers plan --policies-file policies.next.yaml
  airflow config-providers plan --from main --to HEAD --detailed-exit-code

Changes nothing, and reads no secret store. --from and --to import DAG files, in other processes.

exit codes with --detailed-exit-code:
  0 nothing changes and nothing is undecided
  1 the plan failed, or a policy denies it
  2 something changes, or only a run knows what changes: it chooses a layer file
    that could be another one, differ, or beat another value
""",
    "adopt.adopt": """examples:
  airflow config-providers adopt
  airflow config-providers adopt dags/flights.py --operators classes
  airflow config-providers adopt --write proposal/

Prints a patch, and reports what stays by hand; no DAG file is changed. Lines that might contain a secret are
never shown. Needs no database and no secret store; DAG files are imported, in other processes.
""",
    "lint.lint": """examples:
  airflow config-providers lint
  airflow config-providers lint dags/ conf/base.properties policies.yaml --output sarif
  airflow config-providers lint dags/ --providers providers.properties --ignore CP402

Reads files, but no database, server or secret store. Findings show keys and references, but no values.

exit codes:
  0 no findings, or only notes
  1 findings
  2 a file or the folder of the DAGs could not be read, or wrong arguments
""",
    "doctor.doctor": """examples:
  airflow config-providers doctor
  airflow config-providers doctor --only providers,files --timeout 120 --output json

Run it where tasks run, as the user that runs them: what it sees is what they see. It signs in, but reads no secret.

exit codes:
  0 no errors, but perhaps warnings
  1 errors
  2 wrong arguments
""",
    "schema.schema": """examples:
  airflow config-providers schema layer > layer.schema.json
  airflow config-providers schema policies > policies.schema.json

Begin a YAML file with the line:
  # yaml-language-server: $schema=layer.schema.json
""",
    "policies.test": """examples:
  airflow config-providers policies test
  airflow config-providers policies test --dag flights --add-config spark.executor.memory=64g
  airflow config-providers policies test --policies-file policies.yaml --dag flights --delete-config spark.app.owner
  airflow config-providers policies test --dag flights --task report --at render

With --detailed-exit-code, 2 says that only a run knows whether a policy allows it. Wrong arguments end with 2, too.
""",
    "providers.list_": """examples:
  airflow config-providers providers list
  airflow config-providers providers list --check --output json
""",
    "audit_leaks.leaks": """examples:
  airflow config-providers audit leaks logs/
  airflow config-providers audit leaks logs/ --references references.txt --baseline accepted.jsonl --output json
  airflow config-providers audit leaks logs/ --database --conf spark.jars=/opt/postgresql-jdbc.jar
  airflow config-providers audit leaks /mnt/logs --master spark://spark:7077 --state /mnt/audit --reversed-copy copies/

Searches for the current values of the references in all records, and in --references, in every encoding that logs have.
Before you rotate a leaked secret, keep it searchable: --write-fingerprints FILE now, --fingerprints FILE afterwards.
Runs on Spark: on this machine, unless --master or spark-defaults.conf names a cluster. Shows references, never values.

exit codes:
  0 no leaks
  1 leaks
  2 not everything could be read, a reference has no value, or wrong arguments
  3 refused: a file or a setting is wrong, or Spark does not start
""",
    "audit_records.history": """examples:
  airflow config-providers audit history --since 2026-11-01
  airflow config-providers audit history --records s3a://bucket/records --parquet /mnt/audit --dag flights
  airflow config-providers audit history --against /mnt/staging/records --output json

With --output json, each line is a finding. Files that are no record are named, and do not end the audit.
""",
    "audit_records.policies": """examples:
  airflow config-providers audit policies policies.yaml --since 2026-01-01
  airflow config-providers audit policies tomorrow.yaml --records s3a://bucket/records --output json

exit codes:
  0 no run would have been stopped
  1 some would have been stopped
  2 not all records could be read, or wrong arguments
  3 the policies cannot be opened
""",
    "audit_records.references": """examples:
  airflow config-providers audit references
  airflow config-providers audit references '${vault:apps/db:*}' --known references.txt --output json
  airflow config-providers audit references '${vault:apps/db:password}' --runs --since 2026-11-01
""",
    "encoder.rotate": """examples:
  airflow config-providers encoder rotate --validate-only
  airflow config-providers encoder rotate

1. Everywhere, set password_encoder_secret to a new secret and password_encoder_old_secret to the previous one.
2. Run this. 3. Remove password_encoder_old_secret.
""",
}
"""Function of a command -> what its help ends with: examples, and exit codes if they are not the usual ones."""


def commands() -> list[Any]:
    """Return the commands, for Airflow."""
    help_ = "Configuration and secrets of Spark jobs"
    return [GroupCommand(name="config-providers", help=help_, subcommands=_SUBCOMMANDS)]


def _group(name: str, help_: str, *commands: Any) -> Any:
    return GroupCommand(name=name, help=help_, subcommands=commands)


def _command(path: str, help_: str, args: tuple[Any, ...], *, codes: str = _CODES, name: str = "") -> Any:
    """Return a command with the usual formats of output; see ``_action``."""
    return _action(path, help_, (*args, ARG_OUTPUT), codes=codes, name=name)


def _action(path: str, help_: str, args: tuple[Any, ...], *, codes: str = _OWN_CODES, name: str = "") -> Any:
    """Return a command that runs the function at ``path``, which is imported when it is called."""
    return ActionCommand(
        name=name or path.partition(".")[2],
        help=help_,
        func=lazy_load_command(f"airflow_config_providers.cli.{path}"),
        args=args,
        epilog=_EPILOGS[path] + codes,
    )


_OF_PAST: Final = (*options.PAST, *options.WRITTEN_FINDINGS, *options.SPARK_JOB)

_SUBCOMMANDS: Final = (
    _command(
        "describe.describe",
        "Show the configuration of a task, a DAG or the deployment, and where each value comes from",
        (*options.RESOURCE, *options.SHOWN, options.WHY_NOT, *options.RUNS, *options.SERVER),
    ),
    _command(
        "changes.alter",
        "Change dynamic configuration",
        (*options.RESOURCE, *options.CHANGES, *options.CHECKS, *options.SERVER),
    ),
    _command(
        "changes.history", "List the changes of a task, a DAG or the deployment", (*options.RESOURCE, *options.SERVER)
    ),
    _command(
        "changes.rollback",
        "Restore the configuration of an earlier version",
        (*options.RESOURCE, options.VERSION, options.LEAVE_OUT, options.VALIDATE_ONLY, *options.SERVER),
    ),
    _command(
        "changes.refresh",
        "Have processes that follow a task, a DAG or the deployment read the values of its references again",
        (*options.RESOURCE, *options.SERVER),
    ),
    _command(
        "bisect.bisect",
        "Show what changed between the last run of a task that succeeded and the first that failed",
        (*options.RESOURCE[1:], options.MAP_INDEX),  # without --default
    ),
    _command(
        "describe.references",
        "List the tasks that use a reference, and those whose last job had an older value of it",
        (options.PATTERN, *options.SERVER),
    ),
    _command(
        "plan.plan",
        "Show which tasks a change concerns and how, and what policies say of it, before it is made",
        (
            *options.RESOURCE,
            *options.CHANGES,
            *options.STATES,
            options.POLICIES_FILE,
            options.TIMEOUT,
            options.DETAILED,
        ),
    ),
    _action(
        "adopt.adopt",
        "Propose references and layer files for DAGs that use stock operators",
        (*options.ADOPTED, options.TIMEOUT, options.WRITTEN),
    ),
    _action(
        "lint.lint",
        "Find mistakes in DAG files, layer files, policies and providers, without a database or a secret store",
        (*options.LINTED, *options.RULES, options.REPORT),
    ),
    _command(
        "doctor.doctor",
        "Check the deployment from this machine, and say how to mend what is wrong",
        options.EXAMINED,
        codes=_OWN_CODES,
    ),
    _action("schema.schema", "Print a JSON schema, with which editors check and complete YAML files", options.SCHEMA),
    _group(
        "policies",
        "Rules for changes",
        _command(
            "policies.test",
            "Open the policies, and test a change against each",
            (*options.RESOURCE, *options.CHANGES, options.MOMENT, options.POLICIES_FILE, options.DETAILED_VERDICTS),
        ),
    ),
    _group(
        "providers",
        "Sources of the values of references",
        _command("providers.list_", "List the providers that a connection defines", options.CONNECTION, name="list"),
    ),
    _group(
        "audit",
        "Search logs for secrets, and the history of the configuration, on Spark",
        _command(
            "audit_leaks.leaks",
            "Find the values of references in logs and other files",
            (*options.SEARCHED, options.CONNECTION_ID, *options.SPARK_JOB),
            codes=_OWN_CODES,
        ),
        _command(
            "audit_records.history",
            "Show what differs between runs, DAGs and environments, what has no effect, and what failures share",
            (*options.COMPARED, *_OF_PAST),
        ),
        _command(
            "audit_records.policies",
            "Show which past runs the policies in a file would have stopped",
            (options.FILE_OF_POLICIES, *_OF_PAST),
            codes=_OWN_CODES,
        ),
        _command(
            "audit_records.references",
            "Show who used which reference in all runs, and how many values each had",
            (options.PATTERN, options.KNOWN_REFERENCES, options.REFERENCE_RUNS, *_OF_PAST),
        ),
    ),
    _group(
        "encoder",
        "Encryption of stored secrets",
        _command("encoder.rotate", "Re-encrypt the stored secrets with the new secret", (options.VALIDATE_ONLY,)),
    ),
)
"""The command line: ``airflow config-providers``."""
