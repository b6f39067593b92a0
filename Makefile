# Every target sets up what it needs. Python 3.11 or later is all that must be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TESTED := $(wildcard requirements/*.txt)

# tests start Python hundreds of times: what it compiles is kept, whatever the environment says
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick check warm bench reproduce setup browser postgres node java client constraints clean
.DEFAULT_GOAL := demo

# the demonstration needs what a data officer installs; the tests need a little more
demo: $(VENV)/.desk
	$(BIN)/tacit demo --folder demo

test: check
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal
	@echo "Benchmarks are run by: make bench"

# for daily work: the same checks, and the fastest tests of every room (tests/conftest.py says which)
quick: check
	$(BIN)/python -m pytest --quick --numprocesses auto --dist worksteal

check: $(VENV)/.test browser postgres node java
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .
	@$(MAKE) --no-print-directory warm & $(BIN)/mypy && wait
	$(BIN)/lint-imports --no-cache

# in a new clone, while mypy has a processor for itself: what all processes of a run would compile at the same time
warm: $(VENV)/.test
	@[ -d tests/__pycache__ ] || { \
		$(BIN)/python -m pytest --collect-only --quiet --quiet; \
		$(BIN)/python -m pytest --quiet --numprocesses 0 tests/_base/kernels tests/statespace/test_passes.py; \
	} > /dev/null 2>&1 || true

# every table and figure of the two documents Tacit grew from; ends by naming the page to open
reproduce: $(VENV)/.desk
	$(BIN)/python -m experiments.reproduce

# those that take a minute or two each; the others are named at the end
bench: $(VENV)-bench/.bench
	$(VENV)-bench/bin/python benchmarks/imports.py
	$(VENV)-bench/bin/python benchmarks/rappor.py
	$(VENV)-bench/bin/python benchmarks/oracles.py
	$(VENV)-bench/bin/python benchmarks/longitudinal.py
	$(VENV)-bench/bin/python benchmarks/multidimensional.py
	$(VENV)-bench/bin/python benchmarks/tables.py
	$(VENV)-bench/bin/python benchmarks/central_noise.py
	$(VENV)-bench/bin/python benchmarks/central_trees.py
	$(VENV)-bench/bin/python benchmarks/continual.py
	$(VENV)-bench/bin/python benchmarks/local_ranges.py
	$(VENV)-bench/bin/python benchmarks/smoothing.py
	$(VENV)-bench/bin/python benchmarks/forecasting.py
	@echo "Longer ones, each by $(VENV)-bench/bin/python:"
	@echo "  benchmarks/planner.py    predicted beside simulated errors"
	@echo "  benchmarks/reading.py    reading events, files of up to 50 million rows (3 GB)"
	@echo "  benchmarks/bounding.py   bounding what one person adds, the same"
	@echo "By $(BIN)/python: benchmarks/spark.py, counting and randomizing on a cluster of processes (--sizes 100_000_000)"
	@echo "By $(BIN)/python: benchmarks/spark_peers.py, a central count beside Tumult Analytics and PipelineDP, in their environments"
	@echo "And by $(BIN)/python: benchmarks/collector.py, a collector with both databases (--kills 50: killed under load)"
	@echo "  benchmarks/collector_faults.py   its connections, databases, disks and clocks broken under load"

$(VENV)/.desk: pyproject.toml $(TESTED)
	$(PYTHON) tools/environment.py $(VENV) desk

$(VENV)/.test: pyproject.toml $(TESTED)
	$(PYTHON) tools/environment.py $(VENV) test

$(VENV)-bench/.bench: pyproject.toml
	$(PYTHON) tools/environment.py $(VENV)-bench bench

# note the versions that pip chooses today; demo and tests then use them on this version of Python
constraints:
	$(PYTHON) tools/constraints.py

# the page is tested in a real browser: found, or installed where the system's packages can be
browser:
	@sh tools/find_or_install_browser.sh

# queries are tested against a real server, likewise
postgres:
	@sh tools/find_or_install_postgres.sh

# the browser client is built and tested by Node, likewise
node:
	@sh tools/find_or_install_node.sh

# Spark is tested on a cluster of its own processes, which need Java, likewise
java:
	@sh tools/find_or_install_java.sh

# build the one file of the browser client again, after a change in clients/js; a test compares it with a fresh build
client: node
	cd clients/js && npm run --silent check && npm run --silent build

clean:
	rm -rf clients/js/node_modules $(VENV) $(VENV)-bench demo out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
