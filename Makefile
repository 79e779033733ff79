# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# make demo    the main job, end to end           make test   every test
# make setup   install and build what they need   make bench  ns per packet, rates
# make lint    ruff, mypy, clang-format           make fuzz TIME=60   fuzz, seconds each
# make clean   remove build/ and out/
SHELL := /bin/bash
PY := .venv/bin/python
BUILD := build

.PHONY: all setup build demo test bench fuzz lint clean

all: build

# Debian packages and the virtual environment; a second run installs nothing.
setup: .venv/.ready build

.venv/.ready: scripts/setup.sh pyproject.toml
	scripts/setup.sh

build: .venv/.ready
	$(MAKE) --no-print-directory -C xdp BUILD=$(abspath $(BUILD))
	$(MAKE) --no-print-directory -C loadgen/native BUILD=$(abspath $(BUILD))

# The paper's question on real packets: a rack of 6 x 15 workers and 2 clients, three schemes.
DEMO_RACK ?= netclone-demo
demo: setup
	@mkdir -p out/demo
	.venv/bin/netclone-host rack run --name $(DEMO_RACK) --out out/demo

# First what can run side by side, each worker in namespaces of its own; then what measures time.
test: setup
	@failed=0; \
	$(PY) -m pytest -n $(shell nproc) --dist loadfile -m "not alone" || failed=1; \
	$(PY) -m pytest -m alone || failed=1; \
	exit $$failed

# Fuzzers, and then generated scenarios at ten times the examples of `make test`.
TIME ?= 60
fuzz: setup
	$(PY) -m tests.conformance.fuzz $(TIME)
	NETCLONE_EXAMPLES=10 $(PY) -m pytest -q --timeout 3600 tests/conformance/test_generated.py \
		tests/conformance/test_closed_loop.py

# Each benchmark is a module of its own and writes out/bench/NAME.json. `compare` is run by hand:
# it needs another build.
BENCHES := $(filter-out %/__init__.py %/results.py %/compare.py,$(wildcard tests/bench/*.py))

bench: setup
	@mkdir -p out/bench
	@for module in $(subst /,.,$(patsubst %.py,%,$(BENCHES))); do \
		echo "== $$module"; $(PY) -m $$module || exit 1; done

C_FILES := $(shell git ls-files '*.c' '*.h' 2>/dev/null)

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	clang-format --dry-run --Werror $(C_FILES)
	shellcheck scripts/*.sh examples/*.sh .ci/run

include p4/report.mk

clean:
	rm -rf $(BUILD) out
