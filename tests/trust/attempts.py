"""What each of them tries. The page about security has the same table, and a test compares the two."""

from __future__ import annotations

import json

from airflow_config_providers.core.alter import AlterConfigOp
from airflow_config_providers.spark.redaction import DEFAULT_PATTERN
from tests.plugins.serving import set_
from tests.trust.attempt import Outcome, What, Who, attempt
from tests.trust.world import OPEN, SECRET, World

DESCRIBE = ("/dags/flights/tasks/report?synonyms=true&all=true", "/dags/flights/tasks/report/history")
CODE = "{name: code, class: code_loading_keys}"
EXECUTORS = "{name: executors, class: bounds, params: {spark.executor.instances: {max: 10}}}"


# --- viewer


@attempt(Who.VIEWER, What.READ, "a task and its history over REST, a secret written out", Outcome.REFERENCES)
def reads_a_secret_that_was_written_out(world: World) -> Outcome:
    world.serve().alter("op", "/dags/flights/tasks/report", set_("spark.app.password", SECRET))
    return world.show("viewer", DESCRIBE, secret=SECRET)


@attempt(Who.VIEWER, What.READ, "the rendered fields and the XCom of a task", Outcome.REFERENCES)
def reads_what_a_task_leaves(world: World) -> Outcome:
    world.submit({"spark.app.x": world.secret})
    return Outcome.JOB_HAS_IT if SECRET in repr(world.sent()) else Outcome.REFERENCES


@attempt(Who.VIEWER, What.VALUES, "change the dynamic configuration over REST", Outcome.REFUSED)
def changes_as_a_viewer(world: World) -> Outcome:
    return world.asked("viewer", "PATCH", "/dags/flights", json={"operations": [set_("spark.app.a", "b")]})


# --- may trigger a run


@attempt(Who.TRIGGERER, What.VALUES, "run configuration, as the settings are", Outcome.LEFT_OUT)
def sets_a_key_of_a_run_where_that_is_off(world: World) -> Outcome:
    return world.effect("spark.app.a", "run", world.submit(run={"spark_conf": {"spark.app.a": "run"}}))


@attempt(Who.TRIGGERER, What.VALUES, "run configuration, with `run_config_enabled`", Outcome.TAKES_EFFECT)
def sets_a_key_of_a_run(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    return world.effect("spark.app.a", "run", world.submit(run={"spark_conf": {"spark.app.a": "run"}}))


@attempt(Who.TRIGGERER, What.VALUES, "run configuration beyond what a policy allows", Outcome.REFUSED)
def passes_a_policy_by_a_run(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    world.policies(EXECUTORS)
    return world.submit(run={"spark_conf": {"spark.executor.instances": "1000"}})


@attempt(Who.TRIGGERER, What.READ, "a reference in run configuration", Outcome.REFUSED)
def refers_in_run_configuration(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    return world.submit(run={"spark_conf": {"spark.app.x": world.secret}})


@attempt(Who.TRIGGERER, What.READ, "a key that Spark shows, with Spark's own substitution of a secret", Outcome.REFUSED)
def has_spark_substitute_a_secret(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    shown = {"spark.ui.custom.executor.log.url": "http://x/${spark.app.x}"}
    return world.submit({"spark.app.x": world.secret}, run={"spark_conf": shown})


@attempt(Who.TRIGGERER, What.READ, "an environment variable of the worker, by Hadoop's substitution", Outcome.REFUSED)
def has_hadoop_substitute_a_variable(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    return world.submit(run={"spark_conf": {"spark.hadoop.hive.metastore.warehouse.dir": "/x/${env.AIRFLOW_HOME}"}})


@attempt(Who.TRIGGERER, What.READ, "a reference where a template takes data of the run", Outcome.REFUSED)
def refers_through_a_template(world: World) -> Outcome:
    return world.submit({"spark.app.x": "{{ dag_run.conf.x }}"}, run={"x": world.secret})


@attempt(Who.TRIGGERER, What.READ, "Hadoop's substitution where a template takes data of the run", Outcome.REFUSED)
def has_hadoop_substitute_through_a_template(world: World) -> Outcome:
    template = {"spark.hadoop.hive.metastore.warehouse.dir": "/x/{{ dag_run.conf.x }}"}
    return world.submit(template, run={"x": "${env.AIRFLOW_HOME}"})


@attempt(Who.TRIGGERER, What.READ, "a reference in place of the author's default", Outcome.REFUSED)
def replaces_a_default(world: World) -> Outcome:
    template = f"{{{{ dag_run.conf.get('x', '{world.open}') }}}}"
    return world.submit({"spark.app.x": template}, run={"x": world.secret})


@attempt(Who.TRIGGERER, What.READ, "a reference beside one in a branch that is not taken", Outcome.REFUSED)
def refers_beside_an_unused_branch(world: World) -> Outcome:
    template = f"{{% if dag_run.conf.x %}}{{{{ dag_run.conf.x }}}}{{% else %}}{world.open}{{% endif %}}"
    return world.submit({"spark.app.x": template}, run={"x": world.secret})


@attempt(Who.TRIGGERER, What.READ, "a reference beside one in a comment of the template", Outcome.REFUSED)
def refers_beside_a_comment(world: World) -> Outcome:
    return world.submit({"spark.app.x": f"{{# {world.open} #}}{{{{ dag_run.conf.x }}}}"}, run={"x": world.secret})


@attempt(Who.TRIGGERER, What.READ, "the end of the author's reference and another key", Outcome.REFUSED)
def ends_the_author_s_reference(world: World) -> Outcome:
    template = "${dir:{{ dag_run.conf.folder }}:open}"
    return world.submit({"spark.app.x": template}, run={"folder": f"{world.secrets}:secret}}"})


@attempt(Who.TRIGGERER, What.READ, "another folder, by `..` in the path that a template fills in", Outcome.REFUSED)
def goes_up_in_a_reference(world: World) -> Outcome:
    template = f"${{dir:{world.secrets}/{{{{ dag_run.conf.folder }}}}:secret}}"
    return world.submit({"spark.app.x": template}, run={"folder": f"../{world.secrets.name}"})


@attempt(Who.TRIGGERER, What.READ, "another version, by `?` in the path that a template fills in", Outcome.REFUSED)
def chooses_a_version_in_a_reference(world: World) -> Outcome:
    template = f"${{dir:{world.secrets}{{{{ dag_run.conf.version }}}}:open}}"
    return world.submit({"spark.app.x": template}, run={"version": "?version=1"})


@attempt(Who.TRIGGERER, What.READ, "a folder below the author's, where a template fills it in", Outcome.JOB_HAS_IT)
def fills_in_a_path(world: World) -> Outcome:
    (world.secrets / "team").mkdir()
    (world.secrets / "team" / "key").write_text(SECRET)
    template = f"${{dir:{world.secrets}/{{{{ dag_run.conf.folder }}}}:key}}"
    return world.submit({"spark.app.x": template}, run={"folder": "team"})


@attempt(Who.TRIGGERER, What.READ, "the author's folder itself, by a name that is empty or `.`", Outcome.JOB_HAS_IT)
def fills_in_no_folder(world: World) -> Outcome:
    template = f"${{dir:{world.secrets}/{{{{ dag_run.conf.folder }}}}:secret}}"
    return world.submit({"spark.app.x": template}, run={"folder": "."})


@attempt(Who.TRIGGERER, What.READ, "the key, where the author lets a template fill it in", Outcome.JOB_HAS_IT)
def fills_in_a_key(world: World) -> Outcome:
    return world.submit({"spark.app.x": world.reference("{{ dag_run.conf.key }}")}, run={"key": "secret"})


@attempt(Who.TRIGGERER, What.READ, "a reference in a `conf` that is one template for all of it", Outcome.REFUSED)
def refers_in_the_whole_configuration(world: World) -> Outcome:
    return world.submit("{{ dag_run.conf.conf }}", run={"conf": {"spark.app.a": world.secret}})


@attempt(Who.TRIGGERER, What.READ, "`spark.redaction.regex`, so that Spark's pages show values", Outcome.HIDDEN)
def replaces_the_redaction(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    world.submit({"spark.app.x": world.secret}, run={"spark_conf": {"spark.redaction.regex": "zzz"}})
    regex = world.submissions.spark_conf["spark.redaction.regex"]
    return Outcome.HIDDEN if "^spark[.]app[.]x$" in regex and DEFAULT_PATTERN in regex else Outcome.JOB_HAS_IT


@attempt(Who.TRIGGERER, What.KEYS, "a key with `=` and a value that no file keeps", Outcome.REFUSED)
def hides_a_key_in_another(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    return world.submit(run={"spark_conf": {"spark.redaction.regex=zzz": "1 "}})


@attempt(Who.TRIGGERER, What.KEYS, "the definition of a provider", Outcome.REFUSED)
def defines_a_provider_by_a_run(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    return world.submit(run={"spark_conf": {"config.providers.dir.param.allowed.paths": "/"}})


@attempt(Who.TRIGGERER, What.KEYS, "a key of a `conf` that is one template for all of it", Outcome.TAKES_EFFECT)
def fills_in_the_whole_configuration(world: World) -> Outcome:
    ended = world.submit("{{ dag_run.conf.conf }}", run={"conf": {"spark.app.a": "run"}})
    return world.effect("spark.app.a", "run", ended)


@attempt(Who.TRIGGERER, What.CLASSES, "a class for Spark to load, with the policy `code_loading_keys`", Outcome.REFUSED)
def loads_a_class_by_a_run(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    world.policies(CODE)
    return world.submit(run={"spark_conf": {"spark.sql.sources.default": "evil.Source"}})


@attempt(Who.TRIGGERER, What.CLASSES, "the same without a policy", Outcome.TAKES_EFFECT)
def loads_a_class_without_a_policy(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    given = {"spark.sql.sources.default": "evil.Source"}
    return world.effect(*next(iter(given.items())), world.submit(run={"spark_conf": given}))


@attempt(Who.TRIGGERER, What.CLASSES, "a class in such a `conf`, even with the policy", Outcome.TAKES_EFFECT)
def loads_a_class_by_the_whole_configuration(world: World) -> Outcome:
    world.policies(CODE)
    given = {"spark.sql.sources.default": "evil.Source"}
    return world.effect(*next(iter(given.items())), world.submit("{{ dag_run.conf.conf }}", run={"conf": given}))


@attempt(Who.TRIGGERER, What.FILES, "another file in the folder that the author wrote", Outcome.TAKES_EFFECT)
def chooses_a_file_by_name(world: World) -> Outcome:
    folder = world.file("layers/a.properties", "spark.app.a=file").removesuffix("a.properties")
    ended = world.submit(config_files=[f"{folder}{{{{ dag_run.conf.name }}}}.properties"], run={"name": "a"})
    return world.effect("spark.app.a", "file", ended)


@attempt(Who.TRIGGERER, What.FILES, "a file outside of that folder, by `..`", Outcome.REFUSED)
def leaves_the_folder(world: World) -> Outcome:
    folder = world.file("layers/a.properties", "spark.app.a=file").removesuffix("a.properties")
    world.file("others/b.properties", f"spark.app.b={SECRET}")
    path = f"{folder}{{{{ dag_run.conf.name }}}}.properties"
    return world.submit(config_files=[path], run={"name": "../others/b"})


@attempt(Who.TRIGGERER, What.FILES, "`/proc/self/environ`, where a template is the whole path", Outcome.REFUSED)
def reads_the_environment_as_a_file(world: World) -> Outcome:
    return world.submit(config_files=["{{ dag_run.conf.file }}"], run={"file": "/proc/self/environ"})


@attempt(Who.TRIGGERER, What.COMMANDS, "options of a JVM, with the policy `code_loading_keys`", Outcome.REFUSED)
def runs_a_command_by_a_run(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    world.policies(CODE)
    return world.submit(run={"spark_conf": {"spark.executor.extraJavaOptions": "-XX:OnOutOfMemoryError=id"}})


@attempt(
    Who.TRIGGERER,
    What.COMMANDS,
    "the token of the job's own Spark Connect server, with the policy `code_loading_keys`",
    Outcome.REFUSED,
)
def opens_the_server_of_a_job(world: World) -> Outcome:
    world.setting("run_config_enabled", "True")
    world.policies(CODE)
    conf = {"spark.connect.authenticate.token": world.open}
    return world.submit(conf, run={"spark_conf": {"spark.connect.authenticate.token": "known"}})


# --- may edit dynamic configuration


@attempt(Who.EDITOR, What.READ, "a secret that another editor wrote out", Outcome.REFERENCES)
def reads_what_another_editor_wrote_out(world: World) -> Outcome:
    world.serve().alter("op", "/dags/flights/tasks/report", set_("spark.app.password", SECRET))
    return world.show("ann", DESCRIBE, secret=SECRET)


@attempt(Who.EDITOR, What.READ, "a reference, which the job gets", Outcome.JOB_HAS_IT)
def refers_in_dynamic_configuration(world: World) -> Outcome:
    world.alter(AlterConfigOp("spark.app.x", world.secret))
    return world.submit()


@attempt(Who.EDITOR, What.READ, "a reference that the policy `allowed_references` leaves out", Outcome.REFUSED)
def refers_against_a_policy(world: World) -> Outcome:
    world.policies("{name: none, class: allowed_references, params: {allow: [{providers: [env]}]}}")
    return world.alter(AlterConfigOp("spark.app.x", world.secret))


@attempt(Who.EDITOR, What.READ, "a reference under a key that Spark shows", Outcome.REFUSED)
def has_spark_show_a_value(world: World) -> Outcome:
    world.alter(AlterConfigOp("spark.app.name", world.secret))
    return world.submit()


@attempt(Who.EDITOR, What.READ, "a reference to a file whose name Spark shows under derived keys", Outcome.REFUSED)
def has_spark_derive_a_key(world: World) -> Outcome:
    world.alter(AlterConfigOp("spark.jars", f"/x/{world.secret}.jar"))
    return world.submit()


@attempt(Who.EDITOR, What.READ, "a key that Spark shows, with Spark's own substitution of a secret", Outcome.REFUSED)
def alters_a_key_to_a_substitution(world: World) -> Outcome:
    world.alter(AlterConfigOp("spark.ui.custom.executor.log.url", "http://x/${spark.app.x}"))
    return world.submit({"spark.app.x": world.secret})


@attempt(Who.EDITOR, What.VALUES, "a value of their DAG", Outcome.TAKES_EFFECT)
def changes_a_value(world: World) -> Outcome:
    return world.steer("spark.app.a", "b")


@attempt(Who.EDITOR, What.VALUES, "a value of a DAG that is not theirs, over REST", Outcome.REFUSED)
def changes_another_dag(world: World) -> Outcome:
    return world.asked("ann", "PATCH", "/dags/billing", json={"operations": [set_("spark.app.a", "b")]})


@attempt(Who.EDITOR, What.VALUES, "Spark's own substitution, past the policy `bounds`", Outcome.REFUSED)
def passes_a_bound_by_substitution(world: World) -> Outcome:
    world.policies(EXECUTORS)
    operations = [AlterConfigOp("spark.app.n", "1000"), AlterConfigOp("spark.executor.instances", "${spark.app.n}")]
    return world.alter(*operations)


@attempt(Who.EDITOR, What.VALUES, "100,000 operations in one request", Outcome.REFUSED)
def asks_for_too_much(world: World) -> Outcome:
    operations = [set_(f"spark.app.k{i}", "v") for i in range(100_000)]
    return world.asked("op", "PATCH", "/dags/flights", content=json.dumps({"operations": operations}))


@attempt(Who.EDITOR, What.KEYS, "a key with `=`", Outcome.REFUSED)
def alters_a_hidden_key(world: World) -> Outcome:
    return world.alter(AlterConfigOp("spark.driver.extraJavaOptions=-Dx=1 -Dz", "1 "))


@attempt(Who.EDITOR, What.KEYS, "the definition of a provider", Outcome.REFUSED)
def defines_a_provider_by_a_change(world: World) -> Outcome:
    return world.alter(AlterConfigOp("config.providers.dir.param.allowed.paths", "/"))


@attempt(Who.EDITOR, What.CLASSES, "a class for Spark to load, with the policy `code_loading_keys`", Outcome.REFUSED)
def alters_a_class(world: World) -> Outcome:
    world.policies(CODE)
    return world.alter(AlterConfigOp("spark.plugins", "evil.Plugin"))


@attempt(Who.EDITOR, What.CLASSES, "the same without a policy", Outcome.TAKES_EFFECT)
def alters_a_class_without_a_policy(world: World) -> Outcome:
    return world.steer("spark.plugins", "evil.Plugin")


@attempt(Who.EDITOR, What.FILES, "a file of the worker for the job, without a policy", Outcome.TAKES_EFFECT)
def hands_a_file_to_the_job(world: World) -> Outcome:
    return world.steer("spark.files", "/etc/hostname")


@attempt(Who.EDITOR, What.COMMANDS, "the interpreter of the job, with the policy `code_loading_keys`", Outcome.REFUSED)
def alters_a_command(world: World) -> Outcome:
    world.policies(CODE)
    return world.alter(AlterConfigOp("spark.pyspark.python", "/tmp/evil"))


# --- DAG author


@attempt(Who.AUTHOR, What.READ, "any reference of the deployment's providers", Outcome.JOB_HAS_IT)
def refers_in_a_dag(world: World) -> Outcome:
    return world.submit({"spark.app.x": world.secret})


@attempt(Who.AUTHOR, What.READ, "a path that no provider may read", Outcome.REFUSED)
def refers_to_another_folder(world: World) -> Outcome:
    return world.submit({"spark.app.x": "${dir:/etc:hostname}"})


@attempt(Who.AUTHOR, What.READ, "a reference in `application_args`, which `ps` shows", Outcome.REFUSED)
def puts_a_value_into_the_command(world: World) -> Outcome:
    return world.submit(application_args=[world.secret])


@attempt(Who.AUTHOR, What.READ, "the same with `allow_exposed_arguments=True`", Outcome.JOB_HAS_IT)
def puts_a_value_into_the_command_knowingly(world: World) -> Outcome:
    return world.submit(application_args=[world.secret], allow_exposed_arguments=True)


@attempt(Who.AUTHOR, What.KEYS, "the definition of a provider", Outcome.REFUSED)
def defines_a_provider_in_a_dag(world: World) -> Outcome:
    return world.submit({"config.providers": "own", "config.providers.own.class": "file"})


@attempt(Who.AUTHOR, What.CLASSES, "a class for Spark to load", Outcome.TAKES_EFFECT)
def loads_a_class_in_a_dag(world: World) -> Outcome:
    return world.effect("spark.plugins", "own.Plugin", world.submit({"spark.plugins": "own.Plugin"}))


@attempt(Who.AUTHOR, What.FILES, "a layer of any properties file that the worker can read", Outcome.TAKES_EFFECT)
def reads_a_layer(world: World) -> Outcome:
    file = world.file("anywhere/x.properties", "spark.app.a=file")
    return world.effect("spark.app.a", "file", world.submit(config_files=[file]))


@attempt(Who.AUTHOR, What.FILES, "a layer outside of `config_paths`", Outcome.REFUSED)
def reads_a_layer_elsewhere(world: World) -> Outcome:
    world.setting("config_paths", str(world.home / "layers"))
    (world.home / "layers").mkdir()
    return world.submit(config_files=[world.file("anywhere/x.properties", "spark.app.a=file")])


@attempt(Who.AUTHOR, What.FILES, "`/proc/self/environ` as a layer", Outcome.REFUSED)
def reads_the_environment_as_a_layer(world: World) -> Outcome:
    return world.submit(config_files=["/proc/self/environ"])


@attempt(Who.AUTHOR, What.COMMANDS, "a program as the application", Outcome.TAKES_EFFECT)
def runs_a_program(world: World) -> Outcome:
    world.submit(application="/opt/own.py")
    return Outcome.TAKES_EFFECT if world.submissions.only.arguments[-1] == "/opt/own.py" else Outcome.LEFT_OUT


# --- deployment owner


@attempt(Who.OWNER, What.READ, "any file, with `allowed.paths`", Outcome.TAKES_EFFECT)
def opens_a_folder(world: World) -> Outcome:
    world.file("elsewhere/token", OPEN)
    world.provider(**{"class": "directory", "param.allowed.paths": str(world.home / "elsewhere")})
    ended = world.submit({"spark.app.x": f"${{own:{world.home}/elsewhere:token}}"})
    return world.effect("spark.app.x", f"{OPEN}\n", ended)


@attempt(Who.OWNER, What.READ, "files without `allowed.paths`", Outcome.REFUSED)
def opens_everything(world: World) -> Outcome:
    world.provider(**{"class": "directory"})
    return world.submit({"spark.app.x": f"${{own:{world.secrets}:open}}"})


@attempt(Who.OWNER, What.READ, "the environment without an allow-list", Outcome.REFUSED)
def opens_the_environment(world: World) -> Outcome:
    world.provider(**{"class": "env"})
    return world.submit({"spark.app.x": "${own:PATH}"})


@attempt(Who.OWNER, What.CLASSES, "a class that `allowed_provider_classes` does not list", Outcome.REFUSED)
def names_a_class(world: World) -> Outcome:
    world.provider(**{"class": "subprocess.Popen"})
    return world.submit({"spark.app.x": "${own:a:b}"})
