from __future__ import annotations

import threading
import traceback

import pytest

from airflow_config_providers.core.alter import ResourceType
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.reconfigurable import Reconfigurable, Reconfigurables
from airflow_config_providers.exceptions import ConfigException
from tests.core.forks import in_child
from tests.limits import LONGEST

OLD = {"a": 1, "b": 1}
NEW = {"a": 2, "b": 1}


class Pool(Reconfigurable):
    """Records calls in a list that several objects share."""

    def __init__(self, name="pool", keys=("a",), *, log=None, refuses=None, fails_with=None, fails_on=(NEW,)):
        self.name, self.keys, self.log = name, keys, [] if log is None else log
        self.refuses, self.fails_with, self.fails_on = refuses, fails_with, fails_on
        self.configs = OLD

    def reconfigurable_configs(self):
        return self.keys

    def validate_reconfiguration(self, configs):
        self.log.append(("ask", self.name))
        if self.refuses:
            raise self.refuses

    def reconfigure(self, configs):
        self.log.append(("tell", self.name, dict(configs)))
        if self.fails_with and dict(configs) in self.fails_on:
            raise self.fails_with
        self.configs = dict(configs)


def following(*members, configs=OLD):
    everybody = Reconfigurables(configs)
    for member in members:
        everybody.add(member)
    return everybody


DEFINITION = (
    ConfigDef()
    .define("a", ConfigType.INT, 1)
    .define("of.a.task", ConfigType.INT, 1, alterable_at=[ResourceType.TASK])
    .define("fixed", ConfigType.INT, 1, alterable_at=[])
    .define("fixed.too", ConfigType.INT, 1, alterable_at=[])
)


@pytest.mark.parametrize(
    ("definition", "key"),
    [
        pytest.param(DEFINITION, "fixed", id="read-only by definition"),
        pytest.param(None, "config.providers", id="the deployment's"),
        pytest.param(None, "config.providers.vault.class", id="a provider's"),
    ],
)
def test_one_who_follows_a_key_that_is_not_dynamic_is_refused_with_the_key(definition, key):
    everybody = Reconfigurables(OLD, definition)

    with pytest.raises(ConfigException, match=f"Pool cannot follow '{key}', which is not dynamic"):
        everybody.add(Pool(keys=("a", key)))

    everybody.apply(NEW)
    assert everybody.current == NEW


def test_all_keys_that_are_not_dynamic_are_named():
    with pytest.raises(ConfigException) as told:
        Reconfigurables(OLD, DEFINITION).add(Pool(keys=("fixed", "a", "fixed.too")))

    assert ["'fixed'" in told.value.problems[0], "'fixed.too'" in told.value.problems[1]] == [True, True]


@pytest.mark.parametrize("key", ["a", "of.a.task", "custom.key"])
def test_a_dynamic_key_and_one_that_is_not_defined_can_be_followed(key):
    member = Pool(keys=(key,))
    everybody = Reconfigurables(OLD, DEFINITION)
    everybody.add(member)

    everybody.apply({**OLD, key: 7})

    assert member.configs[key] == 7


def test_a_definition_that_comes_later_concerns_those_who_are_here_and_those_who_come():
    everybody = Reconfigurables(OLD)
    everybody.follow(DEFINITION)
    with pytest.raises(ConfigException, match="'fixed'"):
        everybody.add(Pool(keys=("fixed",)))

    early = following(Pool(keys=("fixed",)))
    with pytest.raises(ConfigException, match="'fixed'"):
        early.follow(DEFINITION)


def test_all_are_asked_before_anyone_is_told():
    log = []
    everybody = following(Pool("x", log=log), Pool("y", log=log))

    everybody.apply(NEW)

    assert log == [("ask", "x"), ("ask", "y"), ("tell", "x", NEW), ("tell", "y", NEW)]
    assert everybody.current == NEW


def test_one_that_refuses_keeps_everybody_as_they_are():
    log = []
    everybody = following(Pool("x", log=log), Pool("y", log=log, refuses=ConfigException("a is too large.")))

    with pytest.raises(ConfigException, match=r"Pool refuses the configuration \(a is too large\.\)"):
        everybody.apply(NEW)

    assert [event for event in log if event[0] == "tell"] == []
    assert everybody.current == OLD


@pytest.mark.parametrize("error", [ConfigException(), ConfigException("")], ids=["no text", "an empty text"])
def test_one_that_refuses_without_a_reason_refuses(error):
    everybody = following(Pool(refuses=error))

    with pytest.raises(ConfigException, match=r"Pool refuses the configuration \(it does not say why\.\)"):
        everybody.apply(NEW)

    assert everybody.current == OLD


def test_one_that_fails_without_a_reason_has_failed():
    everybody = following(Pool(fails_with=ConfigException()))

    with pytest.raises(ConfigException, match=r"Pool could not be reconfigured \(it does not say why\.\)"):
        everybody.apply(NEW)

    assert everybody.current == OLD


def test_one_that_has_no_keys_to_return_fails():
    everybody = following(Pool(keys=None))

    with pytest.raises(ConfigException, match=r"Pool failed to return its keys \(it returned None\)"):
        everybody.keys()


def test_everybody_who_refuses_is_named():
    everybody = following(Pool(refuses=ConfigException("one.")), Pool(refuses=ConfigException("two.")))

    with pytest.raises(ConfigException) as error:
        everybody.apply(NEW)

    assert len(error.value.problems) == 2


def test_when_one_fails_those_before_it_get_the_old_configuration_back_the_last_first():
    log = []
    members = [Pool("x", log=log), Pool("y", log=log), Pool("z", log=log, fails_with=OSError("hunter2"))]
    everybody = following(*members, Pool("never told", log=log))

    with pytest.raises(ConfigException, match=r"could not be reconfigured \(OSError\)\. The old configuration stays"):
        everybody.apply(NEW)

    told = [event[1:] for event in log if event[0] == "tell"]
    assert told == [("x", NEW), ("y", NEW), ("z", NEW), ("y", OLD), ("x", OLD)]
    assert everybody.current == OLD
    assert [member.configs for member in members] == [OLD, OLD, OLD]


def test_one_that_cannot_go_back_is_named_and_the_others_go_back():
    first, stuck = Pool(), Pool(fails_with=OSError("hunter2"), fails_on=(OLD,))
    everybody = following(first, stuck, Pool(fails_with=OSError("hunter2")))

    with pytest.raises(ConfigException) as error:
        everybody.apply(NEW)

    assert [("go back" in problem) for problem in error.value.problems] == [False, True]
    assert first.configs == OLD
    assert everybody.current == OLD


def test_no_error_of_others_is_quoted():
    everybody = following(Pool(refuses=ValueError("hunter2")))

    with pytest.raises(ConfigException, match="ValueError") as error:
        everybody.apply(NEW)

    assert "hunter2" not in "".join(traceback.format_exception(error.value))
    assert error.value.__context__ is None


@pytest.mark.parametrize(
    ("before", "after", "is_called"),
    [
        pytest.param({"a": 1}, {"a": 2}, True, id="changed"),
        pytest.param({}, {"a": None}, True, id="set to None"),
        pytest.param({"a": 1}, {}, True, id="deleted"),
        pytest.param({"a": 1}, {"a": 1}, False, id="unchanged"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, False, id="another key"),
    ],
)
def test_only_those_concerned_are_called(before, after, is_called):
    pool = Pool(keys=("a", "z"))
    everybody = following(pool, configs=before)

    everybody.apply(after)

    assert bool(pool.log) is is_called
    assert everybody.current == after


def test_they_get_the_whole_configuration():
    pool = Pool()
    following(pool).apply({"a": 2, "other": "x"})

    assert pool.configs == {"a": 2, "other": "x"}


def test_validating_changes_nothing():
    pool = Pool()
    everybody = following(pool)

    everybody.validate(NEW)

    assert pool.log == [("ask", "pool")]
    assert everybody.current == OLD


def test_nobody_can_change_what_is_in_effect():
    everybody = following()

    with pytest.raises(TypeError):
        everybody.current["a"] = 3


def test_one_that_was_added_twice_is_called_once():
    pool = Pool()
    everybody = following(pool, pool)

    everybody.apply(NEW)

    assert pool.log == [("ask", "pool"), ("tell", "pool", NEW)]


def test_one_that_was_removed_is_not_called():
    pool = Pool()
    everybody = following(pool)
    everybody.remove(pool)

    everybody.apply(NEW)

    assert pool.log == []


def test_an_interruption_leaves_the_old_configuration():
    first = Pool()
    everybody = following(first, Pool(fails_with=KeyboardInterrupt()))

    with pytest.raises(KeyboardInterrupt):
        everybody.apply(NEW)

    assert first.configs == OLD
    assert everybody.current == OLD


def test_applying_from_within_is_refused():
    class Nested(Pool):
        def reconfigure(self, configs):
            everybody.apply({"a": 3})

    everybody = following(Nested())

    with pytest.raises(ConfigException, match="is being applied"):
        everybody.apply(NEW)

    assert everybody.current == OLD
    everybody.remove(everybody._members[0])
    everybody.apply(NEW)
    assert everybody.current == NEW


def test_telling_asks_nobody_and_can_be_taken_back():
    log = []
    members = [Pool("x", log=log), Pool("y", log=log)]
    everybody = following(*members)

    go_back = everybody.tell(NEW)
    assert everybody.current == NEW

    assert go_back() == []
    assert log == [("tell", "x", NEW), ("tell", "y", NEW), ("tell", "y", OLD), ("tell", "x", OLD)]
    assert everybody.current == OLD


def test_who_cannot_go_back_is_told():
    first, stuck = Pool(), Pool(fails_with=OSError("hunter2"), fails_on=(OLD,))
    everybody = following(first, stuck)

    assert everybody.tell(NEW)() == ["Pool could not go back to the old configuration (OSError). Restart it."]
    assert first.configs == everybody.current == OLD


def test_a_turn_keeps_others_from_applying():
    everybody = following(Pool())
    other = threading.Thread(target=everybody.apply, args=({"a": 3},))

    with everybody.turn():
        other.start()
        everybody.validate(NEW)
        everybody.tell(NEW)
        assert everybody.current == NEW
    other.join()

    assert everybody.current == {"a": 3}


def test_one_who_may_not_tell_its_keys_changes_nothing():
    class Broken(Pool):
        def reconfigurable_configs(self):
            raise OSError("hunter2")

    everybody = following(Broken())

    with pytest.raises(ConfigException, match="OSError") as error:
        everybody.apply(NEW)

    assert "hunter2" not in str(error.value)
    assert everybody.current == OLD


def test_changes_of_several_threads_are_applied_one_after_the_other():
    pool, other = Pool(keys=("n",)), Pool(keys=("n",))
    everybody = following(pool, other, configs={"n": -1})
    seen_apart = []

    def change(number):
        everybody.apply({"n": number})
        with everybody._lock:
            if not pool.configs == other.configs == everybody.current:
                seen_apart.append(number)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen_apart == []
    assert [event[2] for event in pool.log if event[0] == "tell"] == [
        event[2] for event in other.log if event[0] == "tell"
    ]


def test_a_forked_child_can_change_what_a_thread_of_its_parent_was_changing():
    asked, goes_on = threading.Event(), threading.Event()

    class Slow(Pool):
        def validate_reconfiguration(self, configs):
            asked.set()
            goes_on.wait(LONGEST)

    everybody = following(Slow())
    thread = threading.Thread(target=everybody.apply, args=(NEW,))
    thread.start()
    asked.wait(LONGEST)
    goes_on_in_child = in_child(lambda: goes_on.set() or everybody.apply(NEW) or "applied")
    goes_on.set()
    thread.join()

    assert goes_on_in_child == "applied"


def test_one_that_answers_false_refuses():
    class Strict(Pool):
        def validate_reconfiguration(self, configs):
            return False

    with pytest.raises(ConfigException, match="it returned False"):
        following(Strict()).apply(NEW)
