# Needs Python 3.11 to 3.13 and, for demo and test, Java 17 or newer. Everything else is installed into .venv.
PYTHON ?= python3
VENV ?= .venv
ARGS ?=
SIDE_BY_SIDE := --numprocesses 3 --dist loadfile --no-loadscope-reorder # also on two cores: some tests wait
COMMA := ,
SPACE := $() $()
EXTRAS := demo test leaks kubernetes moto livy databricks lint docs bench
WITH_SPARK := demo test leaks bench everything

BIN := $(abspath $(VENV))/bin
JAVA := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL = $(PIP) install --no-compile --constraint constraints.txt
WHEELS := $(VENV)/wheels
# On all cores, where pip has one, without the tests of others, and while the next thing begins: Python does the same at an import.
COMPILE = $(BIN)/python -m compileall -q -j 0 -x '/tests/' $(VENV)/lib >/dev/null 2>&1 &
export PATH := $(BIN):$(PATH)
export DIST_EXTRA_CONFIG ?= $(abspath .ci/pip.cfg) # how Spark is built from its sources
unexport PYTHONDONTWRITEBYTECODE # the many processes of the tests would compile the same files again and again

.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help venv demo test leaks vault-server lint format docs bench wheel clean python java

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 21

demo: java $(VENV)/.demo ## run the example pipeline on real flights, and search what it left for the secret
	$(BIN)/python -m dags_examples.demo $(ARGS)

test: java $(VENV)/.test $(VENV)/spark-classes.jsa ## run the tests, without the slow ones; ARGS="-k name" and so on
	$(BIN)/python -m pytest -m "not slow" $(SIDE_BY_SIDE) $(ARGS)

leaks: java $(VENV)/.leaks ## print where each secret of a real run can be seen, beside the stock operator; ARGS="--output json"
	$(BIN)/python -m tests.leaks $(ARGS)

vault-server: $(VENV)/.test ## build the real Vault that the tests use; needs Go
	$(BIN)/python -m tests.servers.build

lint: $(VENV)/.everything ## ruff, mypy and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.lint ## let ruff format the sources and mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.bench ## measure against other libraries and write docs/benchmarks.md
	$(BIN)/python -m benchmarks.run $(ARGS)

wheel: $(VENV)/.installer ## build the wheel into dist/
	rm -rf dist
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist .

venv: $(VENV)/.everything ## install everything into .venv

clean: ## remove what the other targets made
	rm -rf $(VENV) .cache build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp for each extra of pyproject.toml, so that a target installs no more than it needs, and does it once.
$(EXTRAS:%=$(VENV)/.%): $(VENV)/.%: $(VENV)/.installer
	@echo "Installing the extra '$*' into $(VENV)"
	@$(INSTALL) --no-build-isolation --find-links $(WHEELS) --editable '.[$*]'
	@rm -f $(WHEELS)/*
	@$(COMPILE)
	@touch $@

# All of them with one call: one after the other takes longer.
$(VENV)/.everything: $(VENV)/.installer
	@echo "Installing all extras into $(VENV)"
	@$(INSTALL) --no-build-isolation --find-links $(WHEELS) --editable '.[$(subst $(SPACE),$(COMMA),$(EXTRAS))]'
	@rm -f $(WHEELS)/*
	@$(COMPILE)
	@touch $(EXTRAS:%=$(VENV)/.%) $@

# Spark is the largest of all, and built here: on one core, while another installs Airflow.
$(WITH_SPARK:%=$(VENV)/.%): $(VENV)/.spark
$(VENV)/.spark: $(VENV)/.installer
	@ls $(VENV)/lib/*/site-packages/pyspark >/dev/null 2>&1 || { \
	  echo "Building Spark, and installing Airflow into $(VENV) meanwhile"; \
	  $(PIP) wheel --no-deps --no-build-isolation --constraint constraints.txt --wheel-dir $(WHEELS) pyspark & \
	  $(INSTALL) apache-airflow; wait $$!; }
	@touch $@

# Without it Spark starts more slowly, and all works the same.
$(VENV)/spark-classes.jsa: $(VENV)/.test | java
	@echo "Writing Spark's classes to $@"
	-@$(BIN)/python -m tests.servers.quick_java >/dev/null 2>&1

$(VENV)/.installer: pyproject.toml constraints.txt | python
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV) # also when it was interrupted before
	@mkdir -p $(WHEELS) # before pip looks there for the Spark that was built here
	@$(INSTALL) --upgrade pip hatchling editables setuptools wheel
	@touch $@

python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "Python 3.11, 3.12 or 3.13 is needed, and '$(PYTHON)' is not one. Name one: make PYTHON=python3.12 ..." >&2; exit 1; }

java:
	@version=$$($(JAVA) -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p'); test "$${version:-0}" -ge 17 || { \
	  echo "Spark needs Java 17 or newer, and '$(JAVA)' is not that. Install it, or set JAVA_HOME." >&2; exit 1; }
