# Needs python 3.11 or later (with venv), a C compiler and make. Everything else comes from here.
# With cargo there is beta too, the engine in Rust; without it, or by BETA=no, all but beta.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SUFFIXES:

# The interpreter: PYTHON if given, else the first of these that is new enough; of a virtual environment its base.
CANDIDATES := $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11)
SUITABLE := import sys; print(sys._base_executable if sys.version_info >= (3, 11) else sys.exit(1))
export UV_PYTHON := $(shell for name in $(CANDIDATES); do $$name -c '$(SUITABLE)' 2>/dev/null && break; done)

# uv: UV if given, else the one on PATH if new enough, else our own in .uv/.
UV_VERSION := 0.13.9
UV_MINIMUM := 0.13.0
ifndef UV
UV := $(shell found=$$(uv --version 2>/dev/null | cut -d' ' -f2); \
    test -n "$$found" && printf '%s\n' $(UV_MINIMUM) $$found | sort -V -C && command -v uv)
endif
ifeq ($(UV),)
UV := .uv/$(UV_VERSION)/bin/uv
endif

export UV_PYTHON_DOWNLOADS := never
# The certificates that the machine trusts, which need not be those that uv brings.
export UV_SYSTEM_CERTS := true
unexport VIRTUAL_ENV

# Whether beta can be built here, and if not, why: yes, no, or empty for as it is found.
export BETA
BETA_READY := providers/beta/ready
# Cargo on beta's crate, apart from where maturin builds: it has another interpreter, which would build all anew.
CRATE := providers/beta/native
CARGO := PYO3_PYTHON=$(CURDIR)/.venv/bin/python CARGO_TARGET_DIR=$(CRATE)/target/check cargo
# Bounded is each test program, and not cargo, which would leave it running.
LOOM_SECONDS ?= 900
LOOM := RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$(CRATE)/target/loom cargo \
    --config 'target."cfg(all())".runner = ["timeout", "--foreground", "$(LOOM_SECONDS)"]'

NEED_PYTHON = @test -n "$(UV_PYTHON)" || { \
    echo "$(CANDIDATES): no Python 3.11 or later; say which one: make PYTHON=/path/to/python3" >&2; exit 1; }

RUN := $(UV) run --no-sync
SHOWCASE_ARGS ?= --burst 2000 --warmup 1 --rounds 5
TEST_ARGS ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.uv/$(UV_VERSION)/bin/uv:
	$(NEED_PYTHON)
	$(UV_PYTHON) -m venv .uv/$(UV_VERSION)
	.uv/$(UV_VERSION)/bin/python -m pip install --quiet uv==$(UV_VERSION)

.PHONY: sync
sync: $(filter .uv/%,$(UV)) ## make .venv with every distribution and tool in it
	$(NEED_PYTHON)
	@if $(BETA_READY); then set -- --group beta; else test $$? = 1 || exit 1; fi; set -x; $(UV) sync "$$@"

.PHONY: showcase
showcase: sync ## a million circuits on alpha, verified (SHOWCASE_ARGS=...)
	$(RUN) perfkit showcase --provider alpha $(SHOWCASE_ARGS)

.PHONY: lanes
lanes: sync ## emission and hop cost, delays by busy circuits, idle cost: measured against their bounds
	$(RUN) python perfkit/benchmarks/lanes.py

.PHONY: costs
costs: sync ## cost of recipes, of dispatch in conduits and of names: measured against their bounds
	$(RUN) python perfkit/benchmarks/recipes.py
	$(RUN) python perfkit/benchmarks/dispatch.py
	$(RUN) python perfkit/benchmarks/names.py

.PHONY: cycles
cycles: sync ## a million circuits made, run, closed and dropped, again and again: what they cost and leave
	$(RUN) python perfkit/benchmarks/cycles.py

.PHONY: populations
populations: sync ## a million circuits as arrays: build, emission, wait, memory: measured against their bounds
	$(RUN) python perfkit/benchmarks/populations.py

.PHONY: check
check: lint test tck ## everything: format, lint, types, import contracts, tests, TCK

.PHONY: lint
lint: sync ## format check, lint, types, import contracts
	$(RUN) ruff format --check
	$(RUN) ruff check
	$(RUN) mypy
	$(RUN) basedpyright
	PYTHONPATH=providers/beta/src $(RUN) lint-imports --no-logo
	@if $(BETA_READY) 2>/dev/null; then set -ex; \
	    cargo fmt --manifest-path $(CRATE)/Cargo.toml --check; \
	    $(CARGO) clippy --manifest-path $(CRATE)/Cargo.toml --all-targets -- -D warnings; \
	    $(CARGO) clippy --manifest-path $(CRATE)/Cargo.toml --all-targets --no-default-features -- -D warnings; \
	fi

.PHONY: format
format: sync ## format the code, and repair what lint can repair
	$(RUN) ruff check --fix-only
	$(RUN) ruff format
	@if $(BETA_READY) 2>/dev/null; then set -x; cargo fmt --manifest-path $(CRATE)/Cargo.toml; fi

.PHONY: test
test: test-rust ## all tests (TEST_ARGS=...)
	$(RUN) pytest $(TEST_ARGS)

.PHONY: test-fast
test-fast: sync ## all tests but the slow ones (TEST_ARGS=...)
	$(RUN) pytest -m "not slow" $(TEST_ARGS)

.PHONY: test-rust
test-rust: sync ## the engine in Rust without Python, and under loom, which tries all orders (LOOM_SECONDS=...)
	@if $(BETA_READY) 2>/dev/null; then set -ex; \
	    $(CARGO) test --manifest-path $(CRATE)/Cargo.toml --no-default-features; \
	    $(LOOM) test --manifest-path $(CRATE)/Cargo.toml --no-default-features --profile loom; \
	fi

INSTALLED := import importlib.metadata as m; print(*sorted(m.entry_points(group="substrates.providers").names))

.PHONY: tck
tck: sync ## the conformance kit on every installed provider (PROVIDERS=...)
	$(RUN) substrates-tck run $(or $(PROVIDERS),$$($(RUN) python -c '$(INSTALLED)'))

MINUTES ?= 10

.PHONY: soak
soak: sync ## generated programs against the sequential model, on every installed provider (MINUTES=..., PROVIDERS=..., SEED=...)
	$(RUN) substrates-tck soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(or $(PROVIDERS),$$($(RUN) python -c '$(INSTALLED)'))

.PHONY: mutants
mutants: sync ## faulty providers, each caught by the test that is about it
	$(RUN) substrates-tck mutants

ALL_BUT_BETA := substrates $(addprefix substrates-,base reference alpha tck perfkit)

.PHONY: wheels
wheels: $(filter .uv/%,$(UV)) ## a wheel of each distribution, in dist/
	@if $(BETA_READY); then set -x; $(UV) build --all-packages --wheel --out-dir dist; \
	else test $$? = 1 || exit 1; set -ex; \
	    for name in $(ALL_BUT_BETA); do $(UV) build --package $$name --wheel --out-dir dist; done; fi

.PHONY: clean
clean: ## remove all that make has made, but no benchmark runs
	rm -rf .venv .uv uv.lock dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf $(CRATE)/target $(CRATE)/Cargo.lock
	rm -rf */build */dist */src/*.egg-info providers/*/build providers/*/dist providers/*/src/*.egg-info
	find api providers tck perfkit tests \( -name __pycache__ -prune -o -name '*.so' \) -exec rm -rf {} +
