"""What Airflow's providers manager reads."""

from __future__ import annotations

from typing import Any

from airflow_config_providers import __version__


def get_provider_info() -> dict[str, Any]:
    """Describe the connection type, the settings and the backend that this provider adds to Airflow."""
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
        "cli": ["airflow_config_providers.cli.definition.commands"],
        "config": {"config_providers": {"description": "Configuration of Spark jobs.", "options": _options()}},
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
                "config.providers=... and config.providers.<name>.class and .param.* as Java properties, one a line. "
                "For example: config.providers=file"
            ),
            "schema": {"type": ["string", "null"], "format": "multiline"},
        },
        "properties_file": {
            "label": "File of provider definitions",
            "description": "A properties file on the workers, read before the definitions above.",
            "schema": {"type": ["string", "null"]},
        },
    },
}


def _options() -> dict[str, Any]:
    return {
        "apply_to": _option(
            "string",
            "",
            "Stock operators that get references, layers and reversal in every DAG: spark for all, or a comma list of "
            "families.",
        ),
        "opt_out_enabled": _option(
            "boolean", "True", "Whether a DAG with the tag config_providers:off keeps its stock operators as they are."
        ),
        "config_conn_id": _option(
            "string", "config_providers_default", "The connection that defines the providers of operators naming none."
        ),
        "allow_exposed_arguments": _option(
            "boolean",
            "False",
            "Whether operators that do not say so may put values where others than the job can read them.",
        ),
        "resolve_in": _option(
            "string",
            "auto",
            "Who resolves the references of operators that do not say so: worker, driver, or auto for the driver of "
            "jobs that leave the machine where the connection says how.",
        ),
        "run_config_enabled": _option(
            "boolean", "False", "Whether dag_run.conf may set Spark configuration, above every other layer."
        ),
        "run_config_key": _option("string", "spark_conf", "The key of dag_run.conf under which it stands."),
        "run_config_references": _option(
            "boolean",
            "False",
            "Whether it, and what templates fill in, may hold references. Who may trigger a run may then read what "
            "providers answer.",
        ),
        "environment_enabled": _option(
            "boolean", "False", "Whether environment variables of the worker override Spark configuration (FLIP-161)."
        ),
        "allowed_provider_classes": _option(
            "string", "", "Comma list of dotted class paths that provider definitions may name besides short names."
        ),
        "policies_file": _option(
            "string",
            "",
            "File of the policies that every change of the dynamic configuration and every run of a job must pass.",
        ),
        "allowed_policy_classes": _option(
            "string", "", "Comma list of dotted class paths that the policies' file may name besides ready policies."
        ),
        "config_files": _option(
            "string", "", "Comma list of properties files that every job starts from, the strongest last."
        ),
        "config_paths": _option(
            "string",
            "",
            "Comma list of directories that the properties files of all jobs must be in, links followed. Empty: "
            "anywhere, if the path begins with a directory that its author wrote.",
        ),
        "dynamic_enabled": _option(
            "boolean", "True", "Whether tasks read their dynamic configuration, which costs one or two requests each."
        ),
        "password_encoder_secret": _option(
            "string",
            "",
            "What secrets that are written into the dynamic configuration are encrypted with.",
            secret=True,
        ),
        "password_encoder_old_secret": _option(
            "string", "", "The previous password_encoder_secret; set it only while rotating.", secret=True
        ),
        "password_encoder_keyfactory_algorithm": _option(
            "string",
            "PBKDF2WithHmacSHA512",
            "How a key is derived from password_encoder_secret: PBKDF2WithHmacSHA1, SHA224, SHA256, SHA384 or SHA512.",
        ),
        "password_encoder_cipher_algorithm": _option(
            "string",
            "AES/GCM/NoPadding",
            "How secrets are encrypted: AES in mode GCM, CBC, CFB or OFB. Only GCM detects a changed value.",
        ),
        "password_encoder_key_length": _option(
            "integer", "256", "Bits of the key that secrets are encrypted with: 128, 192 or 256."
        ),
        "password_encoder_iterations": _option(
            "integer", "100000", "Iterations that derive the key from password_encoder_secret, at most 1,000,000."
        ),
        "unresolved": _option("string", "fail", "What becomes of a reference that nobody answers: fail or keep."),
        "misspelt_keys": _option(
            "string",
            "warn",
            "What becomes of a key that is spelt nearly as one that Spark knows: warn, fail or ignore. Keys that do "
            "not begin with spark. are refused unless this is ignore.",
        ),
        "max_workers": _option("integer", "32", "How many paths, and secrets of a secrets backend, are read at once."),
        "resolve_timeout": _option(
            "integer",
            "60",
            "Seconds that resolving one configuration may take, with all logins and retries. A reference without an "
            "answer by then fails the task.",
        ),
    }


def _option(kind: str, default: str, description: str, *, secret: bool = False) -> dict[str, Any]:
    return {
        "sensitive": secret,
        "description": description,
        "version_added": "0.1.0",
        "type": kind,
        "example": None,
        "default": default,
    }
