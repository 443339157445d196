"""
The commands and options of ``airflow config-providers``.

Every call of ``airflow`` loads this module, so it imports nothing that is not loaded by then.
"""

from __future__ import annotations

from typing import Any

from airflow.cli.cli_config import ARG_OUTPUT, ActionCommand, Arg, GroupCommand, lazy_load_command

_CODES = """
exit codes:
  0 done                      3 refused: the request is wrong
  2 wrong arguments           4 denied: a policy denies it, or you lack permission
                              5 unavailable: try again later
After alter or rollback, a nonzero code means nothing changed, unless the error says a server did not answer.
"""

_DESCRIBE = """examples:
  airflow config-providers describe --dag flights --task report
  airflow config-providers describe --default --all --output json
  airflow config-providers describe --dag flights --task report --key spark.executor.memory --synonyms

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


def commands() -> list[Any]:
    """Return the commands, for Airflow."""
    return [
        GroupCommand(
            name="config-providers",
            help="Configuration and secrets of Spark jobs",
            subcommands=(
                *_dynamic(),
                _group("policies", "Rules for changes", _policies()),
                _group("providers", "Sources of the values of references", _providers()),
                _group("encoder", "Encryption of stored secrets", _encoder()),
            ),
        )
    ]


def _dynamic() -> tuple[Any, ...]:
    return (
        _command(
            "dynamic.describe",
            "Show the configuration of a task, a DAG or the deployment, and where each value comes from",
            (*_resource(), *_shown(), *_server()),
            _DESCRIBE,
        ),
        _command(
            "dynamic.alter",
            "Change dynamic configuration",
            (*_resource(), *_changes(), *_checks(), *_server()),
            _ALTER,
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
            (*_resource(), *_version(), _validate_only(), *_server()),
            _ROLLBACK,
        ),
    )


def _policies() -> Any:
    return _command(
        "policies.test",
        "Open the policies, and test a change against each",
        (*_resource(), *_changes(), *_moment(), *_policies_file()),
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


def _group(name: str, help_: str, command: Any) -> Any:
    return GroupCommand(name=name, help=help_, subcommands=(command,))


def _command(path: str, help_: str, args: tuple[Any, ...], examples: str, *, name: str = "") -> Any:
    """Return a command that runs the function at ``path``, which is imported when it is called."""
    return ActionCommand(
        name=name or path.partition(".")[2],
        help=help_,
        func=lazy_load_command(f"airflow_config_providers.cli.{path}"),
        args=(*args, ARG_OUTPUT),
        epilog=examples + _CODES,
    )


def _arg(flag: str, **kwargs: Any) -> Any:
    return Arg((flag,), **kwargs)  # type: ignore[no-untyped-call]  # Airflow has no types here


def _resource() -> tuple[Any, ...]:
    return (
        _arg("--default", help="The deployment: the configuration that every job starts from", action="store_true"),
        _arg("--dag", help="The DAG with this id", metavar="DAG_ID"),
        _arg("--task", help="The task with this id, in the DAG", metavar="TASK_ID"),
    )


def _shown() -> tuple[Any, ...]:
    return (
        _arg("--all", help="Also show keys that have only Spark's default", action="store_true"),
        _arg("--key", help="Show only this key; repeatable", action="append", metavar="KEY"),
        _arg("--synonyms", help="Show a row for each value of a key, in order of precedence", action="store_true"),
    )


def _changes() -> tuple[Any, ...]:
    pairs = "KEY=VALUE"
    return (
        _arg(
            "--add-config",
            help="Set keys: k=v, or k1=v1,k2=\\[a,b] as in kafka-configs.sh; repeatable",  # \\[ for rich
            action="append",
            metavar=pairs,
        ),
        _arg("--add-config-file", help="Set the keys of a properties file; - for standard input", metavar="FILE"),
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


def _version() -> tuple[Any, ...]:
    return (
        _arg(
            "--to-version",
            help="Version to restore; by default the one before the last change",
            type=int,
            metavar="VERSION",
        ),
    )


def _moment() -> tuple[Any, ...]:
    return (
        _arg(
            "--at",
            help="Test only the change (alter), or only the run of the task (render); by default both",
            choices=("alter", "render"),
        ),
    )


def _policies_file() -> tuple[Any, ...]:
    return (
        _arg(
            "--policies-file",
            help="Policies file to test; by default the policies_file of the deployment",
            metavar="FILE",
        ),
    )


def _connection() -> tuple[Any, ...]:
    return (
        _arg(
            "--conn-id",
            help="Connection that defines the providers; by default the config_conn_id of the deployment",
            metavar="CONN_ID",
        ),
        _arg("--check", help="Ask each provider whether it can answer; reads no secret", action="store_true"),
    )


def _server() -> tuple[Any, ...]:
    return (
        _address(),
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


def _address() -> Any:
    return _arg(
        "--server",
        help="Airflow's address, to use its REST interface; by default AIRFLOW_CONFIG_PROVIDERS_SERVER",
        metavar="URL",
    )
