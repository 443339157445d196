"""What Airflow's providers manager reads."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from airflow_config_providers import __version__


def get_provider_info() -> dict[str, Any]:
    """Describe the connection type, the settings and the backend that this provider adds to Airflow."""
    options = {name: option.for_airflow() for name, option in OPTIONS.items()}
    return {
        "package-name": "airflow-config-providers",
        "name": "Config Providers",
        "description": "References, layers and secrets for the configuration of Spark jobs.",
        "versions": [__version__],
        "connection-types": [_CONNECTION_TYPE],
        "secrets-backends": ["airflow_config_providers.secrets.config_providers.ConfigProvidersBackend"],
        "task-decorators": [
            {
                "class-name": "airflow_config_providers.decorators.pyspark.configured_pyspark_task",
                "name": "configured_pyspark",
            }
        ],
        "cli": ["airflow_config_providers.cli.command_table.commands"],
        "config": {"config_providers": {"description": "Configuration of Spark jobs.", "options": options}},
    }


_CONNECTION_TYPE: dict[str, Any] = {
    "connection-type": "config_providers",
    "hook-class-name": "airflow_config_providers.hooks.config_providers.ConfigProvidersHook",
    "hook-name": "Config Providers",
    "ui-field-behaviour": {
        "hidden-fields": ["host", "schema", "login", "password", "port"],
        "relabeling": {},
        "placeholders": {},
    },
    "conn-fields": {
        "properties": {
            "label": "Provider definitions",
            "description": (
                "Java properties, one per line: config.providers, and for each name that it lists, "
                "config.providers.<name>.class and .param.* For example: config.providers=file\n"
                "config.providers.file.class=file\nconfig.providers.file.param.allowed.paths=/etc/airflow/spark"
            ),
            "schema": {"type": ["string", "null"], "format": "multiline"},
        },
        "properties_file": {
            "label": "File of provider definitions",
            "description": "Properties file on the workers. The definitions above override it.",
            "schema": {"type": ["string", "null"]},
        },
    },
}


@dataclass(frozen=True, slots=True)
class Option:
    """
    An option of Airflow's configuration.

    :param type: the name of its type in Airflow
    :param default: the default, as it is written in ``airflow.cfg``
    :param description: what it does, and its risk
    """

    type: str
    default: str
    description: str
    sensitive: bool = False
    version_added: str = "0.1.0"
    example: None = None

    def for_airflow(self) -> dict[str, Any]:
        """
        Return what Airflow reads of this option. An empty default is None there.

        Airflow writes an option with another default into a new ``airflow.cfg``, and an empty ``x`` in that file keeps
        Airflow from reading ``x_cmd`` and ``x_secret``. Of an option whose default is None, it writes a comment.
        """
        return {**asdict(self), "default": self.default or None}


OPTIONS: Final = {
    "apply_to": Option(
        "string",
        "",
        "Stock operators that get references, layers and reversal in every DAG: spark for all, or families, "
        "separated by commas.",
    ),
    "opt_out_enabled": Option(
        "boolean", "True", "Let a DAG with the tag config_providers:off keep its stock operators unchanged."
    ),
    "config_conn_id": Option(
        "string", "config_providers_default", "Default for config_conn_id: the connection that defines the providers."
    ),
    "allow_exposed_arguments": Option(
        "boolean", "False", "Default for allow_exposed_arguments: allow values where others can read them."
    ),
    "resolve_in": Option(
        "string",
        "auto",
        "Where references are resolved by default: worker, driver or auto. auto: in the driver, if the job leaves "
        "the machine and the connection defines driver providers; otherwise on the worker.",
    ),
    "run_config_enabled": Option(
        "boolean", "False", "Let dag_run.conf set Spark configuration; it then overrides every other layer."
    ),
    "run_config_key": Option("string", "spark_conf", "Key of dag_run.conf that holds Spark configuration."),
    "run_config_references": Option(
        "boolean",
        "False",
        "Allow references in run configuration, and in what templates fill in from runs, variables and results. "
        "Anyone who can trigger a run can then use every provider.",
    ),
    "environment_enabled": Option(
        "boolean", "False", "Let environment variables of the worker override Spark configuration (FLIP-161)."
    ),
    "allowed_provider_classes": Option(
        "string",
        "",
        "Dotted paths of classes, separated by commas, that provider definitions may name in addition to the short "
        "names.",
    ),
    "policies_file": Option(
        "string",
        "",
        "File of the policies that every change of the dynamic configuration and every run of a job must pass.",
    ),
    "allowed_policy_classes": Option(
        "string",
        "",
        "Dotted paths of classes, separated by commas, that the policies file may name in addition to the "
        "ready-made policies.",
    ),
    "config_files": Option(
        "string",
        "",
        "Java properties or YAML files, separated by commas, that every job starts from. If several set a key, the "
        "last file wins.",
    ),
    "config_paths": Option(
        "string",
        "",
        "Directories, separated by commas, that must contain the properties files of all jobs; symbolic links are "
        "followed. Empty: anywhere, but a run can choose a file only below a directory that the DAG or the "
        "deployment names.",
    ),
    "dynamic_enabled": Option(
        "boolean", "True", "Let tasks read their dynamic configuration, which costs one or two requests per task."
    ),
    "records_enabled": Option(
        "boolean",
        "True",
        "Let each try of a task leave a record of its configuration, with references, for describe --run. It costs one "
        "or two requests per try. Without records, the configuration of a past run cannot be shown.",
    ),
    "records_path": Option(
        "string",
        "",
        "Folder in which each try also writes its record as a file of JSON lines, such as s3://aws@bucket/records. "
        "Everyone who can read it sees the configuration of every task, with references.",
    ),
    "follow_interval": Option(
        "integer",
        "10",
        "Seconds after which processes that follow dynamic configuration notice a change by others, at the latest. "
        "Each asks the database once in this time.",
    ),
    "password_encoder_secret": Option(
        "string",
        "",
        "Encrypts the secrets that are stored in the dynamic configuration, and the values that a task keeps for its "
        "next process. The hashes of values in records are made with it, too. At least 16 bytes.",
        sensitive=True,
    ),
    "password_encoder_old_secret": Option(
        "string", "", "The previous password_encoder_secret; set it only while rotating.", sensitive=True
    ),
    "password_encoder_keyfactory_algorithm": Option(
        "string",
        "PBKDF2WithHmacSHA512",
        "How the key is derived from password_encoder_secret: PBKDF2WithHmacSHA and 1, 224, 256, 384 or 512.",
    ),
    "password_encoder_cipher_algorithm": Option(
        "string",
        "AES/GCM/NoPadding",
        "How secrets are encrypted: AES in mode GCM, CBC, CFB or OFB. Only GCM detects a changed value.",
    ),
    "password_encoder_key_length": Option(
        "integer", "256", "Length in bits of the key that encrypts secrets: 128, 192 or 256."
    ),
    "password_encoder_iterations": Option(
        "integer", "100000", "Iterations that derive the key from password_encoder_secret; at most 1,000,000."
    ),
    "unresolved": Option(
        "string",
        "fail",
        "What happens to a reference without a value: fail the task, or keep the reference as written.",
    ),
    "unknown_keys": Option(
        "string",
        "warn",
        "What happens to a key that is nearly one that Spark knows, or that its version does not have: warn, fail or "
        "ignore. Unless unknown_keys is ignore, keys that do not begin with spark. are refused.",
    ),
    "misspelt_keys": Option("string", "", "Older name of unknown_keys. If it is set, it overrides unknown_keys."),
    "max_workers": Option(
        "integer", "32", "Number of paths, or of secrets of a secrets backend, that are read at the same time."
    ),
    "resolve_timeout": Option(
        "integer",
        "60",
        "Seconds for resolving one configuration, with all logins and retries. A reference that has no answer by "
        "then fails the task.",
    ),
    "reload_settling": Option(
        "integer",
        "30",
        "Seconds after the first change of a running job's secrets in which further changes belong to the same "
        "restart. The restart begins within the same number of seconds after that.",
    ),
    "reloads_per_hour": Option(
        "integer", "6", "How many times a running job can be restarted in an hour. The next restart waits."
    ),
}
"""The settings of the deployment: the options of section ``[config_providers]``."""
