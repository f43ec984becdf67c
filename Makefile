# make demo    solve a weighted MaxSAT problem with COMBO, live; the picture is out/demo.png
# make test    install and run the tests, in minutes; ROOM=kernels runs those of one room, tests/kernels
# make test-full  run all tests, also those that are marked slow: before a release, and before a change is called done
# make bench   compare auto with other cheap methods of the package on six problems; leaves out/bench/RESULTS.md
# make docs    write the site of the docs, with the reference and the gallery, to out/site/index.html. To search it,
#              serve the folder: python -m http.server -d out/site. The first time it runs all examples, which takes
#              minutes, and says so; their output stays in out/gallery, and only a changed example runs again
# make check   what a change has to pass besides: lint, format, types
#
# PYTHON    the interpreter that makes .venv (3.11 or later)
# PIP_ARGS  options for pip, such as an index of CPU builds of torch, which saves gigabytes of CUDA on Linux

PYTHON ?= python3.11
VENV ?= .venv
PIP_ARGS ?=
DEMO_PROBLEM ?= max3sat:variables=16,clauses=72,seed=1
DEMO_TRIALS ?= 200
DEMO_SEED ?= 0
PYTEST_ARGS ?= -n 3 --dist loadgroup --hypothesis-profile=ci
ROOM ?=

SOURCES = bostruct tests examples benchmarks docs/site docs/pictures.py
BIN = $(VENV)/bin
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt

export PYTHONDONTWRITEBYTECODE =
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-full bench docs check clean

demo: $(VENV)/installed
	mkdir -p out
	$(BIN)/bostruct run $(DEMO_PROBLEM) --method combo --trials $(DEMO_TRIALS) --seed $(DEMO_SEED) --until-optimum --progress --plot out/demo.png

ifneq ($(ROOM),)
ifeq ($(wildcard tests/$(ROOM)),)
$(error ROOM=$(ROOM): tests/$(ROOM) is not there; rooms are the folders of tests, such as kernels)
endif
endif

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest $(PYTEST_ARGS) --durations=10 $(addprefix tests/,$(ROOM))

test-full: $(VENV)/installed-dev
	$(BIN)/python -m pytest $(PYTEST_ARGS) --hypothesis-profile=full --durations=10 -m "" $(addprefix tests/,$(ROOM))

bench: $(VENV)/installed
	$(BIN)/python -m benchmarks.peers --quick --out out/bench/results.jsonl --page out/bench/RESULTS.md

docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

check: $(VENV)/installed-dev
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/pyright --pythonpath $(BIN)/python

# torch first, at its pinned version: what needs torch then finds it there and looks for no other.
$(VENV)/torch: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) "$$(grep '^torch==' constraints.txt)"
	touch $@

$(VENV)/installed: $(VENV)/torch pyproject.toml
	$(INSTALL) -e '.[plot]'
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(INSTALL) -e '.[dev,botorch]'
	touch $@

$(VENV)/installed-docs: $(VENV)/installed-dev
	$(INSTALL) -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) out build dist *.egg-info
