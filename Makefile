# The same targets for people and machines; `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
PROFILE ?= quick
TARGET_DIR ?= target/$(PROFILE)
BIN := $(TARGET_DIR)/skilljail
RUNTIME := .run/runtime


.PHONY: help run build test test-as-user test-cpython test-data test-faults test-vm lint static bench bench-parts bench-readme mutants mutants-sample soak doctor schemas clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' Makefile

run: build $(RUNTIME)/runtime.json ## build, make the pinned Python, run a skill on real input, print its JSON
	@$(BIN) run --runtime $(RUNTIME) skills/word-count count.py --input skills/word-count/examples/count.input.json

build: prerequisites ## the program, optimised, in target/quick/
	@$(CARGO) build --locked --profile $(PROFILE)

# Each thing that is missing is named, with the package that brings it.
.PHONY: prerequisites
prerequisites:
	@command -v $(CARGO) >/dev/null || { echo "make: cargo is missing: install Rust 1.95 or later (https://rustup.rs)" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "make: a C linker (cc) is missing: apt-get install gcc libc6-dev, or dnf install gcc" >&2; exit 1; }
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "make: Python 3.11 or later is missing: apt-get install python3, or set it first in PATH" >&2; exit 1; }

$(RUNTIME)/runtime.json: | build
	@mkdir -p .run
	@$(BIN) runtime build --out $(RUNTIME) >&2

# CI sets `-- --show-output`, to count what tests say of skipped parts.
TEST_FLAGS ?=

test: prerequisites ## every test that needs nothing but Rust, a C linker and Python
	@$(CARGO) test --locked --workspace $(TEST_FLAGS)
	@$(CARGO) test --locked --features lab --test layers $(TEST_FLAGS)

# For root: the same test programs once more, with the ids of an ordinary user.
TEST_UID ?= 61234
test-as-user: ## the tests that `make test` built, as an ordinary user (needs root)
	@.ci/as-user $(TEST_UID) $(TEST_UID)

# What the next targets test needs more than Rust, a linker and Python. One set of features and the optimised program, so
# that everything is built once for them.
HEAVY := $(CARGO) test --locked --profile $(PROFILE) --features bench,cpython,faults,fuzz,registry,soak,static,vm
PYTHON_VERSION = $(shell /usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')

test-cpython: prerequisites ## CPython's own tests in the jail (Debian: libpython3.N-testsuite, and apt for those of sqlite3)
	@tests/cpython/sqlite_tests .run/cpython/$(PYTHON_VERSION) /usr/bin/python3
	@$(HEAVY) --test cpython

test-faults: prerequisites ## each system call of a start and a run fails in turn, and is in turn the last of its process (some four minutes)
	@$(HEAVY) --test faults -- --nocapture

test-data: prerequisites ## numpy, pandas and matplotlib in the jail, and each shipped set (needs pip and its index)
	@$(HEAVY) --test runtime_sets --test skills_data
	@$(HEAVY) --test egress requests

test-standard: prerequisites ## our verdicts and SARIF beside those of skills-ref and jsonschema (needs pip and its index)
	@$(HEAVY) --test skill -- skills_ref_says pythons_jsonschema

fuzz-parsers: prerequisites ## a minute of mutated bytes for each parser of a package's files
	@$(HEAVY) --test fuzz_parsers -- --nocapture

bench-check: prerequisites ## `check` of 200 files beside sha256sum of the same tree
	@$(HEAVY) --test skill speed -- --nocapture

bench-egress: prerequisites ## what the egress relay costs, beside the same client outside of the jail
	@$(HEAVY) --test egress -- figures gibibyte --nocapture

bench-policy: prerequisites ## how long loading, proving and comparing policies take
	@$(HEAVY) --test policy figures -- --nocapture

# What is measured is what a production host installs. `BENCH_ROUNDS=300 make bench` is steadier, `BENCH_ONLY=exec,run` shorter.
BENCH = $(CARGO) bench --locked --profile $(PROFILE) --features bench
BENCH_RUNTIMES := .run/bench
DATA_PYTHON ?= $(shell for p in $$(type -ap python3); do \
  $$p -Ic 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

# The set `data` twice: pinned, and outside of any jail, to compare with. Both need pip's index; without it they are skipped.
$(BENCH_RUNTIMES)/plain/runtime.json: | static
	@mkdir -p $(BENCH_RUNTIMES)
	@target/static/skilljail-core runtime build --python /usr/bin/python3 --out $(BENCH_RUNTIMES)/plain

$(BENCH_RUNTIMES)/data.tried: | static
	@mkdir -p $(BENCH_RUNTIMES)
	@if [ -n "$(DATA_PYTHON)" ] && $(DATA_PYTHON) -m venv $(BENCH_RUNTIMES)/venv && \
	  $(BENCH_RUNTIMES)/venv/bin/pip install -q -r src/runtime/sets/data.txt && \
	  target/static/skilljail-core runtime build --python $(DATA_PYTHON) --requirements data --out $(BENCH_RUNTIMES)/data; \
	  then :; else echo "SKIP table-stats: no pip, or no index" >&2; fi; touch $@

bench: static $(BENCH_RUNTIMES)/plain/runtime.json $(BENCH_RUNTIMES)/data.tried ## a start, a run, a warm run beside bare programs and other jails (Debian: bubblewrap firejail crun musl-tools)
	@BENCH_BIN=$(CURDIR)/target/static/skilljail-core BENCH_RUNTIME=$(CURDIR)/$(BENCH_RUNTIMES)/plain \
	  BENCH_DATA_RUNTIME=$(CURDIR)/$(BENCH_RUNTIMES)/data BENCH_DATA_PYTHON=$(CURDIR)/$(BENCH_RUNTIMES)/venv/bin/python3 \
	  $(BENCH) --bench start

bench-parts: prerequisites ## the parts of a start one by one: filter, proof, policy, frontmatter, input, report
	@$(BENCH) --bench parts

bench-readme: bench ## the same, and its ratios into README
	@tests/benches/readme .run/bench-*.json

# The laboratory and the program, side by side: the battery starts both.
.PHONY: laboratory
laboratory: prerequisites
	@$(CARGO) build --locked --profile $(PROFILE) --features lab --bins
LAB := $(TARGET_DIR)/skilljail-lab

# As root also as an ordinary user, who must be able to read the programs and the runtime: copies in a place of its own.
attack: laboratory $(RUNTIME)/runtime.json ## the battery against the jail of this host, and each attack with its walls down
	@$(BIN) attack --runtime $(RUNTIME)
	@$(LAB) control --runtime $(RUNTIME)
	@if [ "$$(id -u)" = 0 ]; then place=$$(mktemp -d /var/tmp/skilljail-attack.XXXXXX); trap 'rm -rf "$$place"' EXIT; \
	  chmod 755 "$$place"; cp $(BIN) $(LAB) "$$place"; cp -a $(RUNTIME) "$$place/runtime"; chmod -R a+rX "$$place"; \
	  user="setpriv --reuid $(TEST_UID) --regid $(TEST_UID) --clear-groups --inh-caps=-all --bounding-set=-all env -i PATH=$$PATH"; \
	  echo "as uid $(TEST_UID):"; $$user "$$place/skilljail" attack --runtime "$$place/runtime"; \
	  $$user "$$place/skilljail-lab" control --runtime "$$place/runtime"; fi

matrix: laboratory $(RUNTIME)/runtime.json ## each attack with each layer left out and with each alone; writes the README's summary
	@$(LAB) matrix --runtime $(RUNTIME) --readme README.md

# With the program that `make test` built.
fuzz-smoke: prerequisites ## half a minute of system calls by a fixed seed
	@$(CARGO) run --locked --quiet --bin skilljail -- fuzz --seconds 30 --seed 1

FUZZ_SEEDS ?= 11 12 13 14
fuzz-hour: build ## an hour of system calls by several seeds
	@for seed in $(FUZZ_SEEDS); do $(BIN) fuzz --seconds 900 --seed $$seed; done

compare-bubblewrap: laboratory $(RUNTIME)/runtime.json ## the same attacks in bubblewrap (Debian: bubblewrap, installed by root)
	@command -v bwrap >/dev/null || apt-get install -y -qq --no-install-recommends bubblewrap >/dev/null
	@$(LAB) compare --runtime $(RUNTIME) tests/comparison/bubblewrap

mutants: build $(RUNTIME)/runtime.json ## seeded weakenings of the product, each caught by an attack
	@tests/mutants/run $(RUNTIME)

# One expression changed at a time, in the rooms that hold the walls: a sample, 1 in 73 of them, another one by its number.
MUTANTS_SAMPLE ?= 0
mutants-sample: prerequisites ## a bounded sample of cargo-mutants over layers, filter and supervisor (cargo install --locked cargo-mutants)
	@$(CARGO) mutants --shard $(MUTANTS_SAMPLE)/73 --sharding round-robin --output .run --baseline run --minimum-test-timeout 120

soak: prerequisites ## a hundred runs at once and ten thousand in a row, and nothing left behind
	@$(HEAVY) --test soak -- --nocapture

# Debian's packages: the kernel is only unpacked here, never installed.
.run/vm/boot:
	@mkdir -p .run/vm && cd .run/vm && apt-get download -qq \
	  "$$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\)$$/\1/p' | head -n 1)" && \
	  dpkg-deb -x linux-image-*.deb . && rm -rf linux-image-*.deb lib usr

test-vm: prerequisites | .run/vm/boot ## cgroup limits and an older kernel, in an emulator (Debian: qemu-system-x86)
	@$(HEAVY) --test vm

lint: ## formatting, clippy, rustdoc, dependencies
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --locked --all-targets -- -D warnings
	@$(CARGO) clippy --locked --all-targets --all-features -- -D warnings
	@$(CARGO) clippy --locked --no-default-features --features core -- -D warnings
	@RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --document-private-items
	@if command -v cargo-deny >/dev/null; then $(CARGO) deny check bans licenses sources; \
	  else echo "SKIP cargo-deny: not installed (cargo install --locked cargo-deny)"; fi

doctor: build ## what this host can do
	@$(BIN) doctor

clean: ## everything that was made
	rm -rf target .run

schemas: build ## regenerate the committed JSON schemas from the types
	@$(BIN) gen schema policy > policies/policy.schema.json
	@$(BIN) gen schema report > integration/report.schema.json

# Linked against musl where that target is installed (rustup target add x86_64-unknown-linux-musl): glibc asks the processor some
# 70 questions at each start, static or not, which on a virtual machine take half of what a start of ours takes.
TARGET ?= $(shell host=$$(rustc -vV | sed -n 's/^host: //p'); musl=$${host/-gnu/-musl}; \
  if [ -d "$$(rustc --print sysroot)/lib/rustlib/$$musl" ]; then echo $$musl; else echo $$host; fi)

# With crt-static the binary needs no file of the host; an explicit target keeps build scripts and macros dynamic.
STATIC_FLAGS := -C target-feature=+crt-static
static: prerequisites ## self-contained executables in target/static/: the full one, and the core one for production hosts
	@RUSTFLAGS="$(STATIC_FLAGS)" $(CARGO) build --locked --release --target $(TARGET) --bin skilljail
	@mkdir -p target/static && cp target/$(TARGET)/release/skilljail target/static/skilljail
	@RUSTFLAGS="$(STATIC_FLAGS)" $(CARGO) build --locked --release --target $(TARGET) --bin skilljail \
	  --no-default-features --features core
	@cp target/$(TARGET)/release/skilljail target/static/skilljail-core
	@$(HEAVY) --test static -- --nocapture
