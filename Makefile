# Two commands for users: `make demo` and `make test`. Each does all of its own set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := examples/fp16-collapse/run
BENCHMARK := examples/fp16-collapse/benchmark

.PHONY: demo test lint types check wheel-test integration examples faultlab score experience score-code score-held corpus mutants bench docs clean

demo: $(VENV)/.ready
	$(BIN)/diagnose $(RUN) --benchmark $(BENCHMARK) --format terminal --format markdown --output demo-report/report.md
	@echo "The markdown report with its curves: demo-report/report.md"

test: $(VENV)/.test
	$(BIN)/python -m pytest -q -n 2

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy -p traindoctor

check: lint types test

wheel-test: $(VENV)/.dev
	$(BIN)/python tools/wheel_test.py

integration: $(VENV)/.ready     # installs real frameworks (about 6 GB), trains with them and diagnoses what they left
	$(BIN)/python tools/integration/run.py

examples:        # needs PyTorch (pip install torch==2.13.0): trains the bundled runs anew
	$(PYTHON) examples/make_all.py

faultlab:        # needs PyTorch: trains every recorded run of the fault lab anew
	$(PYTHON) faultlab/make.py --force

score: $(VENV)/.test
	$(BIN)/python faultlab/score.py

experience: $(VENV)/.test       # fits rules/experience.yaml to the recorded runs anew, before the score
	$(BIN)/python faultlab/experience.py --jobs 2

score-code: $(VENV)/.test      # the script checks over the corpus of programs in faultlab/code
	$(BIN)/python faultlab/code_score.py

score-held: $(VENV)/.test      # fails where the score is clearly worse than the stored one (a part of the cases)
	$(BIN)/python faultlab/score.py --against faultlab/score.json --every 60 --jobs 2
	$(BIN)/python faultlab/code_score.py --against faultlab/code_score.json --every 144 --jobs 2

corpus: $(VENV)/.test     # downloads published training code (not part of CI) and counts false alarms in it
	$(BIN)/python -m pip install --quiet --disable-pip-version-check unearth
	$(BIN)/python faultlab/public.py --findings

mutants: $(VENV)/.test    # writes faults into that code and counts which are named (not part of CI)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check unearth
	$(BIN)/python faultlab/mutants.py

bench: $(VENV)/.test
	$(BIN)/python benchmarks/cold_start.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/inference.py
	$(BIN)/python benchmarks/tensors.py
	$(BIN)/python benchmarks/scripts.py

docs: $(VENV)/.ready        # pages of rules, coverage and JSON Schemas, written from the rules
	$(BIN)/diagnose rules docs
	$(BIN)/python tools/checklist_page.py

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit("traindoctor needs Python 3.10 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 10) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: $(VENV)/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: $(VENV)/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.ready

$(VENV)/.dev: $(VENV)/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.test $(VENV)/.ready

clean:
	rm -rf $(VENV) demo-report build dist
