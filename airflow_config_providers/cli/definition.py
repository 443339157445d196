"""
The commands and options of ``airflow config-providers``.

Every call of ``airflow`` loads this module, so it imports nothing that is not loaded by then.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from airflow.cli.cli_config import ARG_OUTPUT, ActionCommand, Arg, GroupCommand, lazy_load_command

_CODES = """
exit codes:
  0 done                      3 refused: the request is wrong
  2 wrong arguments           4 denied: a policy denies it, or you lack permission
                              5 unavailable: try again later
"""

_UNCHANGED = """
A nonzero exit code means that nothing changed, unless the error says that a server did not answer.
"""

_DESCRIBE = """examples:
  airflow config-providers describe --dag flights --task report
  airflow config-providers describe --default --all --output json
  airflow config-providers describe --dag flights --task report --key spark.executor.memory --synonyms
  airflow config-providers describe --dag flights --task report --why-not spark.executor.memory=8g

With --run RUN_ID, it shows what the task had in a run, and with --diff A B what differs.
With --server, the command uses the REST interface of that deployment, with your permissions there.
"""

_ALTER = """examples:
  airflow config-providers alter --dag flights --add-config spark.executor.memory=8g
  airflow config-providers alter --dag flights --task report --delete-config spark.executor.memory
  airflow config-providers alter --default --append spark.jars.packages=org.postgresql:postgresql:42.7.4
  airflow config-providers alter --dag flights --add-config 'spark.app.db.password=${vault:apps/db:password}'
  airflow config-providers alter --dag flights --add-config-file changes.properties --validate-only

Put plain-text secrets in --add-config-file: other users of the machine can read the command line.
"""

_HISTORY = """examples:
  airflow config-providers history --dag flights
  airflow config-providers history --dag flights --task report --output json
"""

_ROLLBACK = """examples:
  airflow config-providers rollback --dag flights
  airflow config-providers rollback --dag flights --to-version 3 --validate-only
"""

_REFRESH = """examples:
  airflow config-providers refresh --dag flights
  airflow config-providers refresh --dag flights --task report --output json

Use it after a secret was rotated. No configuration changes. Running jobs with config.reload.action=restart
read their values again too; other jobs read values when they start.
"""

_BISECT = """examples:
  airflow config-providers bisect --dag flights --task report
  airflow config-providers bisect --dag flights --task report --output json

Each row is a key that differs, and who changed it. It needs the records of both runs.
"""

_REFERENCES = """examples:
  airflow config-providers references
  airflow config-providers references '${vault:apps/db:*}' --output json
"""

_POLICIES = """examples:
  airflow config-providers policies test
  airflow config-providers policies test --dag flights --add-config spark.executor.memory=64g
  airflow config-providers policies test --policies-file policies.yaml --dag flights --delete-config spark.app.owner
  airflow config-providers policies test --dag flights --task report --at render
"""

_PROVIDERS = """examples:
  airflow config-providers providers list
  airflow config-providers providers list --check --output json
"""

_ENCODER = """examples:
  airflow config-providers encoder rotate --validate-only
  airflow config-providers encoder rotate

1. Everywhere, set password_encoder_secret to a new secret and password_encoder_old_secret to the previous one.
2. Run this. 3. Remove password_encoder_old_secret.
"""

_PLAN = """examples:
  airflow config-providers plan --dag flights --add-config spark.executor.memory=8g
  airflow config-providers plan --default --add-config-file changes.properties --output json
  airflow config-providers plan --replace-file conf/base.properties=conf/base.next.properties
  airflow config-providers plan --environment production.env
  airflow config-providers plan --from main --to HEAD --detailed-exit-code

Changes nothing, and reads no secret store. --from and --to import DAG files, in other processes.

exit codes with --detailed-exit-code:
  0 nothing changes
  1 the plan failed, or a policy denies it
  2 something changes
"""

_ADOPT = """examples:
  airflow config-providers adopt
  airflow config-providers adopt dags/flights.py --operators classes
  airflow config-providers adopt --write proposal/

Prints a patch, and reports what stays by hand; no DAG file is changed. Lines that might contain a secret are
never shown. Needs no database and no secret store; DAG files are imported, in other processes.
"""

_LINT = """examples:
  airflow config-providers lint
  airflow config-providers lint dags/ conf/base.properties policies.yaml --output sarif
  airflow config-providers lint dags/ --providers providers.properties --ignore CP402

Reads files, but no database, server or secret store. Findings show keys and references, but no values.

exit codes:
  0 no findings, or only notes
  1 findings
  2 a file or the folder of the DAGs could not be read, or wrong arguments
"""

_DOCTOR = """examples:
  airflow config-providers doctor
  airflow config-providers doctor --only providers,files --timeout 120 --output json

Run it where tasks run, as the user that runs them: what it sees is what they see. It signs in, but reads no secret.

exit codes:
  0 no errors, but perhaps warnings
  1 errors
  2 wrong arguments
"""

_SCHEMA = """examples:
  airflow config-providers schema layer > layer.schema.json
  airflow config-providers schema policies > policies.schema.json

Begin a YAML file with the line:
  # yaml-language-server: $schema=layer.schema.json
"""


_AUDIT_HISTORY = """examples:
  airflow config-providers audit history --since 2026-11-01
  airflow config-providers audit history --records s3a://bucket/records --parquet /mnt/audit --dag flights
  airflow config-providers audit history --against /mnt/staging/records --output json

With --output json, each line is a finding. Files that are no record are named, and do not end the audit.
"""

_AUDIT_POLICIES = """examples:
  airflow config-providers audit policies policies.yaml --since 2026-01-01
  airflow config-providers audit policies tomorrow.yaml --records s3a://bucket/records --output json

exit codes:
  0 no run would have been stopped
  1 some would have been stopped
  2 not all records could be read, or wrong arguments
  3 the policies cannot be opened
"""

_AUDIT_REFERENCES = """examples:
  airflow config-providers audit references
  airflow config-providers audit references '${vault:apps/db:*}' --known references.txt --output json
"""

_LEAKS = """examples:
  airflow config-providers audit leaks logs/
  airflow config-providers audit leaks logs/ --references references.txt --baseline accepted.jsonl --output json
  airflow config-providers audit leaks logs/ --database --conf spark.jars=/opt/postgresql-jdbc.jar
  airflow config-providers audit leaks /mnt/logs --master spark://spark:7077 --state /mnt/audit --reversed-copy copies/

Searches for the values of the references in all records, and in --references, in every encoding that logs can have.
Runs on Spark: on this machine, unless --master or spark-defaults.conf names a cluster. Shows references, never values.

exit codes:
  0 no leaks
  1 leaks
  2 not everything could be read, a reference has no value, or wrong arguments
  3 refused: a file or a setting is wrong, or Spark does not start
"""


def commands() -> list[Any]:
    """Return the commands, for Airflow."""
    return [
        GroupCommand(
            name="config-providers",
            help="Configuration and secrets of Spark jobs",
            subcommands=(
                *_dynamic(),
                _bisect(),
                _references(),
                _plan(),
                _adopt(),
                _lint(),
                _doctor(),
                _schema(),
                _group("policies", "Rules for changes", _policies()),
                _group("providers", "Sources of the values of references", _providers()),
                _group("audit", "Search logs for secrets, and the history of the configuration, on Spark", *_audits()),
                _group("encoder", "Encryption of stored secrets", _encoder()),
            ),
        )
    ]


def _dynamic() -> tuple[Any, ...]:
    return (
        _command(
            "dynamic.describe",
            "Show the configuration of a task, a DAG or the deployment, and where each value comes from",
            (*_resource(), *_shown(), _why_not(), *_runs(), *_server()),
            _DESCRIBE,
        ),
        _command(
            "dynamic.alter",
            "Change dynamic configuration",
            (*_resource(), *_changes(), *_checks(), *_server()),
            _ALTER + _UNCHANGED,
        ),
        _command(
            "dynamic.history",
            "List the changes of a task, a DAG or the deployment",
            (*_resource(), *_server()),
            _HISTORY,
        ),
        _command(
            "dynamic.rollback",
            "Restore the configuration of an earlier version",
            (*_resource(), _version(), _validate_only(), *_server()),
            _ROLLBACK + _UNCHANGED,
        ),
        _command(
            "dynamic.refresh",
            "Have processes that follow a task, a DAG or the deployment read the values of its references again",
            (*_resource(), *_server()),
            _REFRESH + _UNCHANGED,
        ),
    )


def _bisect() -> Any:
    _, *of_task = _resource()
    return _command(
        "bisect.bisect",
        "Show what changed between the last run of a task that succeeded and the first that failed",
        (*of_task, _map_index()),
        _BISECT,
    )


def _references() -> Any:
    return _command(
        "dynamic.references",
        "List the tasks that use a reference, and those whose last job had an older value of it",
        (_pattern(), *_server()),
        _REFERENCES,
    )


def _pattern() -> Any:
    return _arg(
        "pattern",
        help="References to list, with * for anything; by default all",
        nargs="?",
        default="*",
        metavar="PATTERN",
    )


def _policies() -> Any:
    return _command(
        "policies.test",
        "Open the policies, and test a change against each",
        (*_resource(), *_changes(), _moment(), _policies_file()),
        _POLICIES,
    )


def _providers() -> Any:
    return _command(
        "providers.list_",
        "List the providers that a connection defines",
        _connection(),
        _PROVIDERS,
        name="list",
    )


def _encoder() -> Any:
    return _command(
        "encoder.rotate",
        "Re-encrypt the stored secrets with the new secret",
        (_validate_only(),),
        _ENCODER,
    )


def _audits() -> tuple[Any, ...]:
    return (
        _leaks(),
        _command(
            "audit_records.history",
            "Show what differs between runs, DAGs and environments, what has no effect, and what failures share",
            (*_compared(), *_past(), *_written_findings(), *_spark_job()),
            _AUDIT_HISTORY,
        ),
        _action(
            "audit_records.policies",
            "Show which past runs the policies in a file would have stopped",
            (
                _arg("file", help="File of policies", metavar="FILE"),
                *_past(),
                *_written_findings(),
                *_spark_job(),
                ARG_OUTPUT,
            ),
            _AUDIT_POLICIES,
        ),
        _command(
            "audit_records.references",
            "Show who used which reference in all runs, and how many values each had",
            (_pattern(), _known_references(), *_past(), *_written_findings(), *_spark_job()),
            _AUDIT_REFERENCES,
        ),
    )


def _past() -> tuple[Any, ...]:
    return (
        _arg(
            "--records",
            help="Folder of records, in any place that Spark can read; by default the records_path of the deployment "
            "or, without one, Airflow's database",
            metavar="PATH",
        ),
        _arg(
            "--parquet",
            help="Folder that keeps what was read, so that the next audit reads only what is new",
            metavar="FOLDER",
        ),
        _arg("--since", help="First day, such as 2026-11-01; by default all", metavar="DAY"),
        _completed("dags", "--dag", help="Only the DAG with this id", metavar="DAG_ID"),
        _arg(
            "--no-database",
            help="Do not read Airflow's database, because the records are of another deployment",
            action="store_true",
        ),
    )


def _compared() -> tuple[Any, ...]:
    kinds = (
        "always-loses",
        "before-failure",
        "between-dags",
        "between-environments",
        "between-runs",
        "default-not-taken",
        "only-in-failed",
        "overrides-default",
        "unused",
    )
    return (
        _arg("--against", help="Folder of the records of another environment, to compare with", metavar="PATH"),
        _arg("--kind", help="Only findings of this kind; repeatable", action="append", choices=kinds),
    )


def _known_references() -> Any:
    return _arg("--known", help="File with references: those that no record has are listed, too", metavar="FILE")


def _leaks() -> Any:
    return _action(
        "audit_leaks.leaks",
        "Find the values of references in logs and other files",
        (*_searched(), _connection_id(), *_spark_job(), ARG_OUTPUT),
        _LEAKS,
    )


def _searched() -> tuple[Any, ...]:
    return (
        _arg(
            "paths",
            help="Files and folders to search, also in object storage, such as s3://CONN_ID@BUCKET/PATH",
            nargs="*",
            metavar="PATH",
        ),
        _arg("--database", help="Also search the text in Airflow's own database", action="store_true"),
        _arg("--references", help="File with references to search for; repeatable", action="append", metavar="FILE"),
        _arg("--no-records", help="Do not search for the references of the records", action="store_true"),
        _arg(
            "--except",
            help="Leave out references that are no secrets, such as '${vault:apps/db:user}'; * is any text; repeatable",
            action="append",
            dest="excepted",
            metavar="PATTERN",
        ),
        _arg("--fingerprints", help="File with fingerprints of values; repeatable", action="append", metavar="FILE"),
        _arg("--write-fingerprints", help="File to write, with the fingerprints of the values", metavar="FILE"),
        _arg("--no-values", help="Ask no provider for values: search for fingerprints or tokens", action="store_true"),
        _arg("--tokens", help="Find tokens of well-known formats, too", action="store_true"),
        _arg("--baseline", help="File with accepted leaks: their ids, or the JSON of an audit", metavar="FILE"),
        _arg(
            "--state",
            help="Folder that keeps what was searched, so that the next audit reads only what is new",
            metavar="FOLDER",
        ),
        _arg(
            "--reversed-copy",
            help="Folder to write copies to, with references in place of the values",
            metavar="FOLDER",
        ),
        *_written_findings(),
    )


def _written_findings() -> tuple[Any, ...]:
    return (
        _arg("--report", help="HTML file to write, with the findings and plots of them", metavar="FILE"),
        _arg("--output-parquet", help="Parquet file to write, with the findings", metavar="FILE"),
    )


def _spark_job() -> tuple[Any, ...]:
    return (
        _arg("--master", help="Spark's master; by default that of spark-defaults.conf, or local[*]", metavar="URL"),
        _arg("--conf", help="Configuration of the Spark job: key=value; repeatable", action="append", metavar="K=V"),
    )


def _plan() -> Any:
    return _command(
        "plan.plan",
        "Show which tasks a change concerns and how, and what policies say of it, before it is made",
        (*_resource(), *_changes(), *_states(), _policies_file(), _timeout(), _detailed()),
        _PLAN,
    )


def _adopt() -> Any:
    return _action(
        "adopt.adopt",
        "Propose references and layer files for DAGs that use stock operators",
        (*_adopted(), _timeout(), _written()),
        _ADOPT,
    )


def _lint() -> Any:
    return _action(
        "lint.lint",
        "Find mistakes in DAG files, layer files and policies, without a database or a secret store",
        (*_linted(), *_rules(), _report()),
        _LINT,
    )


def _doctor() -> Any:
    return _action(
        "doctor.doctor",
        "Check the deployment from this machine, and say how to mend what is wrong",
        (*_examined(), ARG_OUTPUT),
        _DOCTOR,
    )


def _schema() -> Any:
    return _action(
        "schema.schema",
        "Print a JSON schema, with which editors check and complete YAML files",
        (
            _arg("kind", help="Layer files, or files of policies", choices=("layer", "policies")),
            _arg("--spark-version", help="Version of Spark; by default the newest one", metavar="VERSION"),
        ),
        _SCHEMA,
    )


def _group(name: str, help_: str, *commands: Any) -> Any:
    return GroupCommand(name=name, help=help_, subcommands=commands)


def _command(path: str, help_: str, args: tuple[Any, ...], examples: str, *, name: str = "") -> Any:
    """Return a command with the usual formats of output and exit codes; see ``_action``."""
    return _action(path, help_, (*args, ARG_OUTPUT), examples + _CODES, name=name)


def _action(path: str, help_: str, args: tuple[Any, ...], epilog: str, *, name: str = "") -> Any:
    """Return a command that runs the function at ``path``, which is imported when it is called."""
    return ActionCommand(
        name=name or path.partition(".")[2],
        help=help_,
        func=lazy_load_command(f"airflow_config_providers.cli.{path}"),
        args=args,
        epilog=epilog,
    )


def _arg(*flags: str, **kwargs: Any) -> Any:
    return Arg(flags, **kwargs)  # type: ignore[no-untyped-call]  # Airflow has no types here


def _completed(names: str, *flags: str, **kwargs: Any) -> Any:
    """Return an option whose values a shell can complete with a function of ``completion``."""
    return CompletedArg(flags, lazy_load_command(f"airflow_config_providers.cli.completion.{names}"), **kwargs)


class CompletedArg(Arg):
    """
    An option whose values a shell can complete.

    :param completer: returns the values, as argcomplete calls it
    """

    def __init__(self, flags: tuple[str, ...], completer: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(flags, **kwargs)  # type: ignore[no-untyped-call]  # Airflow has no types here
        self._completer = completer

    def add_to_parser(self, parser: ArgumentParser) -> None:
        """Add the option to ``parser``."""
        action: Any = parser.add_argument(*self.flags, **self.kwargs)
        action.completer = self._completer


def _resource() -> tuple[Any, ...]:
    return (
        _arg("--default", help="The deployment: the configuration that every job starts from", action="store_true"),
        _completed("dags", "--dag", help="The DAG with this id", metavar="DAG_ID"),
        _completed("tasks", "--task", help="The task with this id, in the DAG", metavar="TASK_ID"),
    )


def _shown() -> tuple[Any, ...]:
    return (
        _arg("--all", help="Also show keys that have only Spark's default", action="store_true"),
        _completed("keys", "--key", help="Show only this key; repeatable", action="append", metavar="KEY"),
        _arg("--synonyms", help="Show a row for each value of a key, in order of precedence", action="store_true"),
    )


def _why_not() -> Any:
    return _arg(
        "--why-not",
        help="Say why a setting does not apply, or that it does: KEY=VALUE, a key, a path of a file, or a layer as "
        "describe shows it",
        metavar="KEY=VALUE|LAYER",
    )


def _runs() -> tuple[Any, ...]:
    return (
        _completed("runs", "--run", help="Show what the task had in the run with this id", metavar="RUN_ID"),
        _arg("--try", help="Number of the try; by default the last one", type=int, dest="try_number", metavar="N"),
        _map_index(),
        _completed(
            "sides",
            "--diff",
            help="Show what differs between two of: now, RUN_ID, RUN_ID#TRY, the address of another deployment or, "
            "with --run, the number of a try",
            nargs=2,
            metavar=("A", "B"),
        ),
    )


def _map_index() -> Any:
    return _arg("--map-index", help="Map index of an instance of a mapped task", type=int, metavar="I")


def _changes() -> tuple[Any, ...]:
    pairs = "KEY=VALUE"
    return (
        _arg(
            "--add-config",
            help="Set keys: k=v, or k1=v1,k2=\\[a,b] as in kafka-configs.sh; repeatable",  # \\[ for rich
            action="append",
            metavar=pairs,
        ),
        _arg(
            "--add-config-file",
            help="Set the keys of a properties or YAML file; - for properties on standard input",
            metavar="FILE",
        ),
        _arg("--delete-config", help="Delete keys: k1,k2; repeatable", action="append", metavar="KEY"),
        _arg("--append", help="Add elements to a list: k=a,b; repeatable", action="append", metavar=pairs),
        _arg("--subtract", help="Remove elements from a list: k=a,b; repeatable", action="append", metavar=pairs),
    )


def _checks() -> tuple[Any, ...]:
    return (
        _arg(
            "--if-version",
            help="Change only if the resource is still at this version, the last that history shows",
            type=int,
            metavar="VERSION",
        ),
        _validate_only(),
    )


def _validate_only() -> Any:
    return _arg("--validate-only", help="Check everything, but change nothing", action="store_true")


def _version() -> Any:
    return _arg(
        "--to-version",
        help="Version to restore; by default the one before the last change",
        type=int,
        metavar="VERSION",
    )


def _moment() -> Any:
    return _arg(
        "--at",
        help="Test only the change (alter), or only the run of the task (render); by default both",
        choices=("alter", "render"),
    )


def _policies_file() -> Any:
    return _arg(
        "--policies-file",
        help="Policies file to test; by default the policies_file of the deployment",
        metavar="FILE",
    )


def _states() -> tuple[Any, ...]:
    return (
        _arg(
            "--replace-file",
            help="Read FILE in place of the layer file at PATH; repeatable",
            action="append",
            metavar="PATH=FILE",
        ),
        _arg(
            "--environment",
            help="File with lines NAME=VALUE: the environment variables of the jobs, in place of those of this process",
            metavar="FILE",
        ),
        _arg(
            "--from",
            help="Git revision of the DAGs folder to begin with; by default the DAGs that Airflow has stored",
            dest="from_",
            metavar="REV",
        ),
        _arg(
            "--to",
            help="Git revision of the DAGs folder to end with; by default the DAGs that Airflow has stored or, with "
            "--from, the files in the DAGs folder",
            metavar="REV",
        ),
    )


def _timeout() -> Any:
    return _arg(
        "--timeout", help="Seconds to import one DAG file; default 60", type=float, default=60, metavar="SECONDS"
    )


def _detailed() -> Any:
    return _arg(
        "--detailed-exit-code",
        help="Exit with 0 if nothing changes, 2 if something does, and 1 for an error or a denial",
        action="store_true",
    )


def _connection_id() -> Any:
    return _arg(
        "--conn-id",
        help="Connection that defines the providers; by default the config_conn_id of the deployment",
        metavar="CONN_ID",
    )


def _connection() -> tuple[Any, ...]:
    return (
        _connection_id(),
        _arg("--check", help="Ask each provider whether it can answer; reads no secret", action="store_true"),
    )


def _examined() -> tuple[Any, ...]:
    return (
        _arg(
            "--only",
            help="Make only these checks, such as providers,files; repeatable",
            action="append",
            metavar="NAME",
        ),
        _connection_id(),
        _arg(
            "--timeout",
            help="Seconds for each check and each provider; default 30",
            type=float,
            default=30,
            metavar="SECONDS",
        ),
    )


def _linted() -> tuple[Any, ...]:
    return (
        _arg(
            "paths",
            help="DAG files, layer files (.properties, .conf, .yaml), policies (.yaml) or folders; by default those of "
            "the deployment",
            nargs="*",
            metavar="PATH",
        ),
        _arg(
            "--skip-other-yaml",
            help="Leave out YAML files that are neither layer files nor policies, as a hook that gets all files needs",
            action="store_true",
        ),
        _arg("--providers", help="Properties file that defines the providers of all jobs", metavar="FILE"),
        _arg(
            "--conn-extra",
            help="Extra of the connection that defines the providers of all jobs; - for standard input; by default, "
            "connections are read from AIRFLOW_CONN_...",
            metavar="JSON",
        ),
        _timeout(),
    )


def _adopted() -> tuple[Any, ...]:
    return (
        _arg("paths", help="DAG files or folders; by default the DAGs of the deployment", nargs="*", metavar="PATH"),
        _arg(
            "--operators",
            help="Keep the stock operators, which the setting apply_to configures, or use the classes of this package",
            choices=("apply_to", "classes"),
            default="apply_to",
        ),
        _arg(
            "--shared-by",
            help="Number of jobs that must share a value before it moves to a layer file; default 3",
            type=int,
            default=3,
            metavar="N",
        ),
        _arg(
            "--layers-folder",
            help="Folder of the layer files, as jobs see it; by default layers/ in the folder of the DAG files",
            metavar="PATH",
        ),
        _arg(
            "--connection-provider",
            help="Name of the provider for Airflow connections; default connection",
            default="connection",
            metavar="NAME",
        ),
        _arg(
            "--variable-provider",
            help="Name of the provider for Airflow variables; default variable",
            default="variable",
            metavar="NAME",
        ),
        _arg("--write", help="Write the patch, the report and the layer files into this new folder", metavar="FOLDER"),
    )


def _written() -> Any:
    return _arg("--output", "-o", help="Format; default plain", choices=("plain", "json"), default="plain")


def _rules() -> tuple[Any, ...]:
    return (
        _arg("--select", help="Apply only the rules with these codes, such as CP2,CP301", **_codes()),
        _arg("--ignore", help="Do not apply the rules with these codes", **_codes()),
    )


def _codes() -> dict[str, str]:
    return {"action": "append", "metavar": "CODES"}


def _report() -> Any:
    formats = ("plain", "json", "sarif", "junit")
    return _arg("--output", "-o", help="Format of the report; default plain", choices=formats, default="plain")


def _server() -> tuple[Any, ...]:
    return (
        _arg(
            "--server",
            help="Airflow's address, to use its REST interface; by default AIRFLOW_CONFIG_PROVIDERS_SERVER",
            metavar="URL",
        ),
        _arg(
            "--token-file",
            help="File with your token for the server; - for standard input; by default AIRFLOW_CLI_TOKEN",
            metavar="FILE",
        ),
        _arg("--username", help="Your user name on the server; gets a token with your password", metavar="NAME"),
        _arg(
            "--password-file",
            help="File with your password, - for standard input; otherwise you are prompted",
            metavar="FILE",
        ),
        _arg("--allow-plain-http", help="Send the token unencrypted to another machine", action="store_true"),
    )
