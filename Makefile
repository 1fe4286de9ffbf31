# `make` alone prints the goals. Every goal works on a fresh clone and asks no questions.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.NOTPARALLEL:
.PHONY: help setup run build engine test similarity bench bench-check bench-images crash kill stress mutants sanitize \
  sanitize-thread sanitize-address lint tidy format fuzz coverage \
  docs library install uninstall deb examples bench-c python cluster clean

# The toolchain's crash backtracer can hang an unattended run.
export SWIFT_BACKTRACE := enable=no

# One scratch folder for each kind of build, so that builds do not disturb each other and may run in parallel.
BUILD ?= .build
ASAN_BUILD ?= .build-asan
TSAN_BUILD ?= .build-tsan
export FUZZ_BUILD ?= .build-fuzz
ENGINE_BUILD ?= .build-engine
export COVERAGE_BUILD ?= .build-coverage
export DOCS_BUILD ?= .build-docs
export MUTANTS_BUILD ?= .build-mutants
BENCH_BUILD ?= .build-bench
PYTHON_BUILD ?= .build-package

# The folder of the demonstration's store and pictures.
RUN ?= .run
# A folder of pictures for `run`. Its name may have any characters.
export PHOTOS ?=
# Results of `bench`. Its stores are in DATA (default: on the disk of BENCH).
BENCH ?= .bench
DATA ?=
QUICK ?=
WORKLOADS ?=
ENGINES ?=
TARGET ?= all
TIME ?= $(if $(filter crash,$(MAKECMDGOALS)),900,30)
STATES ?= 200000
FAULTS ?= 24000
ROUNDS ?= 300
SEED ?= $(shell date +%Y%m%d)
INPUT ?=
ONLY ?=
PARTIAL ?=
SCENE ?=
LOADS ?=
SUITES ?=
# The program of `cluster`. Without it, the goal builds one.
CACHECTL ?=
# More options of `cluster`, as in CLUSTER='--values 100000 --json figures.json'.
CLUSTER ?=
# The folder of `install` and `uninstall`. DESTDIR goes before it, for packages.
PREFIX ?= /usr/local
# The folder of `deb` for its packages.
DEB ?= $(BUILD)/deb
SECONDS_OF_STRESS := $(if $(filter command line environment override,$(origin SECONDS)),$(SECONDS),60)

SOURCES := Sources Tests Fuzz Benchmarks Package.swift
ifeq ($(shell uname -s),Linux)
# The toolchain's own linker; others may warn about the object files of the toolchain's Foundation.
STATIC := --static-swift-stdlib -Xswiftc -use-ld=lld
endif
# SwiftPM gives the compiler the traits in the order of a set. With another order, everything would be built again.
SWIFT_BUILD := SWIFT_DETERMINISTIC_HASHING=1 swift build
BENCH_RELEASE := $(SWIFT_BUILD) -c release --package-path Benchmarks/Engines --scratch-path '$(BENCH_BUILD)' --product bench-engines
# The tests run optimized, but with the assertions of a debug build, such as those of the order of locks.
OPTIMIZED := -Xswiftc -O -Xswiftc -assert-config -Xswiftc Debug
RELEASE := $(SWIFT_BUILD) -c release $(STATIC) --scratch-path '$(BUILD)'

help: ## Print this list
	@echo 'Vitrine: a crash-safe cache for images. The two commands to begin with: make run, make test.'
	@echo
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo '  make run PHOTOS=~/Pictures     your own pictures instead of generated ones'
	@echo '  make bench QUICK=1             or WORKLOADS=thumbs,churn ENGINES=raw,vitrine,lmdb DATA=/mnt/disk'
	@echo '  make fuzz TARGET=record TIME=60'
	@echo '  make stress SECONDS=600 LOADS="stalled giants"'
	@echo '  make crash TIME=60 SEED=7 PARTIAL=1'
	@echo '  make kill ROUNDS=1000 SEED=7'
	@echo '  make mutants ONLY=rule-4'

setup: ## Install missing packages (and nothing else)
	@scripts/setup

run: setup ## See it work: put, read, kill, recover, verify, load photos over HTTP, and a report
	@echo 'Building (release) ...'
	@$(RELEASE) --product vitrine-demo
	@$(RELEASE) --product cachectl
	@"$$($(RELEASE) --show-bin-path)/vitrine-demo" --folder '$(RUN)' $${PHOTOS:+--photos "$${PHOTOS/#~\//$$HOME/}"}

build: setup ## Build library, tool and demonstration in release
	@$(RELEASE)
	@echo "The tool: $$($(RELEASE) --show-bin-path)/cachectl"

engine: ## Build the engine and the tool, with none of the libraries for pictures
	@scripts/setup --engine
	@$(SWIFT_BUILD) --disable-default-traits --product cachectl --scratch-path '$(ENGINE_BUILD)'

test: setup lint tidy ## Check the style and the rules, build, run all tests
	@{ scripts/setup --python && scripts/similarity --setup; } || echo 'test: no Pillow, so nothing is compared with it'
	@$(SWIFT_BUILD) --build-tests --scratch-path '$(BUILD)' $(OPTIMIZED)
	@scripts/api --check --build='$(BUILD)'
	@scripts/test --skip-build --scratch-path '$(BUILD)' $(OPTIMIZED)
	@if command -v nginx >/dev/null; then \
	  scripts/cluster --small --cachectl "$$($(SWIFT_BUILD) --scratch-path '$(BUILD)' --show-bin-path)/cachectl"; \
	else echo 'test: no nginx, so no cluster is driven'; fi

similarity: setup ## Compare drawn pictures with Pillow's, in numbers; installs Pillow
	@scripts/setup --python
	@BUILD='$(BUILD)' OPTIMIZED='$(OPTIMIZED)' scripts/similarity

crash: setup ## Explore crashes of a simulated store: STATES=200000 FAULTS=24000 TIME=900 SEED=date; PARTIAL=1 accepts fewer states when time ends
	@echo 'Building (release) ...'
	@$(RELEASE) --product cachectl
	@"$$($(RELEASE) --show-bin-path)/cachectl" crashtest --seed '$(SEED)' --states '$(STATES)' \
	  --faults '$(FAULTS)' --time '$(TIME)' $(if $(PARTIAL),--require-some,--require)

kill: setup ## Kill a writer on the real disk repeatedly, and check its promises: ROUNDS=300 [SEED=7]
	@echo 'Building (release) ...'
	@$(RELEASE) --product store-process
	@"$$($(RELEASE) --show-bin-path)/store-process" kill '$(ROUNDS)' $(if $(filter-out file,$(origin SEED)),'$(SEED)')

stress: setup ## Check readers while writers evict and compact; print times: SECONDS=60
	@echo 'Building (release) ...'
	@$(RELEASE) --product store-process
	@"$$($(RELEASE) --show-bin-path)/store-process" stress $(LOADS) '$(SECONDS_OF_STRESS)'

bench: ## Compare with SQLite, LMDB, LevelDB, RocksDB and files: [QUICK=1] [WORKLOADS=] [ENGINES=] [DATA=folder]
	@scripts/setup --peers
	@echo 'Building (release) ...'
	@$(BENCH_RELEASE)
	@"$$($(BENCH_RELEASE) --show-bin-path)/bench-engines" --out '$(BENCH)' $(if $(filter-out 0,$(QUICK)),--quick) \
	  $(if $(DATA),--data '$(DATA)') $(if $(WORKLOADS),--workloads '$(WORKLOADS)') \
	  $(if $(ENGINES),--engines '$(ENGINES)')

bench-check: ## Check in seconds that every compared engine returns the right bytes
	@scripts/setup --peers
	@$(BENCH_RELEASE)
	@mkdir -p '$(BENCH)'
	@"$$($(BENCH_RELEASE) --show-bin-path)/bench-engines" --check --data '$(BENCH)' $(if $(ENGINES),--engines '$(ENGINES)')

bench-images: setup ## Measure the cost of showing pictures, as tables: [PHOTOS=folder] [SCENE=list]
	@echo 'Building (release) ...' >&2
	@$(SWIFT_BUILD) -c release --scratch-path '$(BUILD)' --product bench-images >&2
	@"$$($(SWIFT_BUILD) -c release --scratch-path '$(BUILD)' --show-bin-path)/bench-images" $(SCENE) \
	  $${PHOTOS:+--photos "$${PHOTOS/#~\//$$HOME/}"}

mutants: setup ## Plant mistakes in the engine, one at a time, and see that each is found: ONLY='rule-5 sync'
	@scripts/mutants $(ONLY)

# Optimized under Address Sanitizer: the tests take a third of the time. Not under Thread Sanitizer: in inlined copy-on-write
# code it sees the reads, and not the reference counts that order them.
sanitize: sanitize-thread sanitize-address ## Run all tests under Thread Sanitizer, then under Address Sanitizer (leaks too)

sanitize-thread: setup ## Run all tests under Thread Sanitizer, or those of SUITES='CrashTests|ProcessTests'
	@echo '== Thread Sanitizer'
	@VITRINE_SANITIZED=1 TSAN_OPTIONS="halt_on_error=1:$${TSAN_OPTIONS:-}" scripts/test --sanitize=thread --scratch-path '$(TSAN_BUILD)' \
	  $(if $(SUITES),--filter '$(SUITES)')

sanitize-address: setup ## Run all tests under Address Sanitizer, or those of SUITES='CrashTests|ProcessTests'
	@echo '== Address Sanitizer'
	@VITRINE_SANITIZED=1 LSAN_OPTIONS="suppressions=$(CURDIR)/scripts/leaks.supp:print_suppressions=0:$${LSAN_OPTIONS:-}" \
	  ASAN_OPTIONS="suppressions=$(CURDIR)/scripts/address.supp:$${ASAN_OPTIONS:-}" \
	  scripts/test --sanitize=address --scratch-path '$(ASAN_BUILD)' -Xswiftc -O \
	  $(if $(SUITES),--filter '$(SUITES)')

tidy: ## Check the rules of CONTRIBUTING that a program can check: layers, names that documents cite, words
	@scripts/tidy --self-test
	@scripts/tidy

lint: ## Check the style of all Swift files
	@swift format lint --strict -r $(SOURCES)

format: ## Format all Swift files
	@swift format -i -r $(SOURCES)

fuzz: setup ## Feed hostile bytes to parsers, stores and the tool: TARGET=all TIME=30 [INPUT=file]
	@scripts/fuzz '$(TARGET)' '$(TIME)' $(if $(INPUT),'$(INPUT)')

coverage: setup ## Run the tests and show their coverage; fails if it is less than 95 % of the engine
	@scripts/coverage

docs: setup ## Make the reference of all libraries as a web site
	@scripts/docs

library: setup ## Build the shared library of the C interface, without Swift at run time
	@scripts/library '$(BUILD)'

install: setup ## Install library, headers, pkg-config and CMake files, cachectl and its units: PREFIX=/usr/local [DESTDIR=]
	@library="$$(scripts/library '$(BUILD)')" && $(RELEASE) --product cachectl && \
	  scripts/install '$(PREFIX)' "$$library" "$$($(RELEASE) --show-bin-path)/cachectl"

uninstall: ## Remove the files of `install`: PREFIX=/usr/local [DESTDIR=]
	@scripts/install --uninstall '$(PREFIX)'

deb: setup ## Make packages for Debian of library, headers and cachectl, which lintian accepts, in DEB=.build/deb
	@scripts/setup --deb
	@library="$$(scripts/library '$(BUILD)')" && $(RELEASE) --product cachectl && \
	  scripts/deb '$(DEB)' "$$library" "$$($(RELEASE) --show-bin-path)/cachectl"

examples: setup ## Build and run Examples/C against a copy that is installed in a temporary folder
	@library="$$(scripts/library '$(BUILD)')" && scripts/examples "$$library"

bench-c: setup ## Compare a borrow by the C interface with a get in Swift
	@$(RELEASE) --product bench-c >&2
	@folder="$$(mktemp -d)" && "$$($(RELEASE) --show-bin-path)/bench-c" "$$folder/store"; rm -rf "$$folder"

python: setup ## Install the Python package in an environment of its own, and run its tests
	@scripts/setup --python
	@scripts/python $(if $(PEERS),--peers) '$(BUILD)' '$(PYTHON_BUILD)'

cluster: $(if $(CACHECTL),,setup) ## Drive four servers behind nginx and twemproxy, kill one, restart it: [CACHECTL=] [CLUSTER=options]
	@scripts/setup --cluster
ifeq ($(CACHECTL),)
	@echo 'Building (release) ...'
	@$(RELEASE) --product cachectl
	@scripts/cluster --cachectl "$$($(RELEASE) --show-bin-path)/cachectl" $(CLUSTER)
else
	@scripts/cluster --cachectl '$(CACHECTL)' $(CLUSTER)
endif

clean: ## Remove everything that the goals above made
	@rm -rf '$(BUILD)' '$(ASAN_BUILD)' '$(TSAN_BUILD)' '$(ENGINE_BUILD)' '$(FUZZ_BUILD)'
	@rm -rf '$(PYTHON_BUILD)' Python/build Python/*.egg-info
	@rm -rf '$(COVERAGE_BUILD)' '$(DOCS_BUILD)' '$(MUTANTS_BUILD)' '$(BENCH_BUILD)' '$(BENCH)'
	@rm -rf '$(RUN)/store' '$(RUN)/pictures' '$(RUN)/images' '$(RUN)/photos' '$(RUN)/sheet.png' .build-python
	@rmdir '$(RUN)' 2>/dev/null || true
