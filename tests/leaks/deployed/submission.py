"""What each operator of the DAGs is given."""

from recorder import callback, push


def arguments(settings, column, how):
    """Give the arguments of an operator whose secrets come from where ``column`` says."""
    texts = settings["texts"][column]
    words = [how, settings["meeting"], settings["job_settings"]]
    return {
        "task_id": f"{column}_{how}",
        "name": f"{column}_{how}",
        "application": settings["job"],
        "conn_id": "spark_cluster" if how == "standalone" else "spark_default",
        "conf": {**settings["conf"], **texts["conf"]},
        "env_vars": texts["env_vars"],
        "properties_file": texts["properties_file"],
        "application_args": [*words, *([texts["argument"]] if how in {"standalone", "killed"} else [])],
        "verbose": how == "local",
        "retries": 0,
        "on_failure_callback": callback,
        "post_execute": push,
    }
