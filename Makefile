# `make` alone prints what there is. Every goal works on a fresh clone and asks nothing.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.NOTPARALLEL:
.PHONY: help setup run build engine test similarity bench-images crash kill stress mutants sanitize \
  sanitize-thread sanitize-address lint format fuzz coverage \
  docs clean

# The crash backtracer of the toolchain can hang a run that nobody watches.
export SWIFT_BACKTRACE := enable=no

# One scratch folder for each kind of build, so that none spoils another's and they may run side by side.
BUILD ?= .build
ASAN_BUILD ?= .build-asan
TSAN_BUILD ?= .build-tsan
export FUZZ_BUILD ?= .build-fuzz
ENGINE_BUILD ?= .build-engine
export COVERAGE_BUILD ?= .build-coverage
export DOCS_BUILD ?= .build-docs
export MUTANTS_BUILD ?= .build-mutants

# Where the demonstration keeps its store and its pictures.
RUN ?= .run
# A folder of pictures for `run`; handed over as it is, whatever characters its name has.
export PHOTOS ?=
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
SECONDS_OF_STRESS := $(if $(filter command line environment override,$(origin SECONDS)),$(SECONDS),60)

SOURCES := Sources Tests Fuzz Benchmarks Package.swift
ifeq ($(shell uname -s),Linux)
# The toolchain's own linker; another may warn of what the toolchain's Foundation is made of.
STATIC := --static-swift-stdlib -Xswiftc -use-ld=lld
endif
RELEASE := swift build -c release $(STATIC) --scratch-path '$(BUILD)'

help: ## Print this list
	@echo 'Vitrine: a crash-safe cache for images. The two commands to begin with: make run, make test.'
	@echo
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo '  make run PHOTOS=~/Pictures     your own pictures instead of made ones'
	@echo '  make fuzz TARGET=record TIME=60'
	@echo '  make stress SECONDS=600 LOADS="stalled giants"'
	@echo '  make crash TIME=60 SEED=7 PARTIAL=1'
	@echo '  make kill ROUNDS=1000 SEED=7'
	@echo '  make mutants ONLY=rule-4'

setup: ## Install what is missing (and nothing else)
	@scripts/setup

run: setup ## See it work: put, read, kill, recover, verify, load photos over HTTP, and a report
	@echo 'Building (release) ...'
	@$(RELEASE) --product vitrine-demo
	@$(RELEASE) --product cachectl
	@"$$($(RELEASE) --show-bin-path)/vitrine-demo" --folder '$(RUN)' $${PHOTOS:+--photos "$${PHOTOS/#~\//$$HOME/}"}

build: setup ## Build library, tool and demonstration in release
	@$(RELEASE)
	@echo "The tool: $$($(RELEASE) --show-bin-path)/cachectl"

engine: ## Build all but VitrineImages, with none of the libraries for pictures
	@scripts/setup --engine
	@swift build --disable-default-traits --scratch-path '$(ENGINE_BUILD)'

test: setup lint ## Check the style, build, run all tests
	@{ scripts/setup --python && scripts/similarity --setup; } || echo 'test: no Pillow, so nothing is compared with it'
	@swift build --build-tests --scratch-path '$(BUILD)'
	@scripts/test --skip-build --scratch-path '$(BUILD)'

similarity: setup ## Compare what is drawn with what Pillow draws, which it installs, in numbers
	@scripts/setup --python
	@BUILD='$(BUILD)' scripts/similarity

crash: setup ## Cut a simulated store off everywhere: STATES=200000 FAULTS=24000 TIME=900, SEED of the day, PARTIAL=1 for what the time allows
	@echo 'Building (release) ...'
	@$(RELEASE) --product cachectl
	@"$$($(RELEASE) --show-bin-path)/cachectl" crashtest --seed '$(SEED)' --states '$(STATES)' \
	  --faults '$(FAULTS)' --time '$(TIME)' $(if $(PARTIAL),--require-some,--require)

kill: setup ## Kill a writer on the real disk again and again, and look for what it promised: ROUNDS=300 [SEED=7]
	@echo 'Building (release) ...'
	@$(RELEASE) --product store-process
	@"$$($(RELEASE) --show-bin-path)/store-process" kill '$(ROUNDS)' $(if $(filter-out file,$(origin SEED)),'$(SEED)')

stress: setup ## Readers beside writers that evict and compact, all checked, in numbers: SECONDS=60
	@echo 'Building (release) ...'
	@$(RELEASE) --product store-process
	@"$$($(RELEASE) --show-bin-path)/store-process" stress $(LOADS) '$(SECONDS_OF_STRESS)'

bench-images: setup ## Measure what showing pictures costs, as tables: [PHOTOS=folder] [SCENE=list]
	@echo 'Building (release) ...' >&2
	@swift build -c release --scratch-path '$(BUILD)' --product bench-images >&2
	@"$$(swift build -c release --scratch-path '$(BUILD)' --show-bin-path)/bench-images" $(SCENE) \
	  $${PHOTOS:+--photos "$${PHOTOS/#~\//$$HOME/}"}

mutants: setup ## Plant mistakes in the engine, one at a time, and see that each is found: ONLY='rule-5 sync'
	@scripts/mutants --check
	@scripts/mutants $(ONLY)

# Under Address Sanitizer optimized: the tests take a third of the time. Not so the others: of inlined code that copies on write
# Thread Sanitizer sees the reads, and not the count of references that orders them.
sanitize: sanitize-thread sanitize-address ## Run all tests under Thread Sanitizer, then under Address Sanitizer (leaks too)

sanitize-thread: setup ## Run all tests under Thread Sanitizer
	@echo '== Thread Sanitizer'
	@VITRINE_SANITIZED=1 TSAN_OPTIONS="halt_on_error=1:$${TSAN_OPTIONS:-}" scripts/test --sanitize=thread --scratch-path '$(TSAN_BUILD)'

sanitize-address: setup ## Run all tests under Address Sanitizer
	@echo '== Address Sanitizer'
	@VITRINE_SANITIZED=1 LSAN_OPTIONS="suppressions=$(CURDIR)/scripts/leaks.supp:print_suppressions=0:$${LSAN_OPTIONS:-}" \
	  ASAN_OPTIONS="suppressions=$(CURDIR)/scripts/address.supp:$${ASAN_OPTIONS:-}" \
	  scripts/test --sanitize=address --scratch-path '$(ASAN_BUILD)' -Xswiftc -O

lint: ## Check the style of all Swift files
	@swift format lint --strict -r $(SOURCES)

format: ## Bring all Swift files into that style
	@swift format -i -r $(SOURCES)

fuzz: setup ## Feed parsers, stores and the tool with hostile bytes: TARGET=all TIME=30 [INPUT=file]
	@scripts/fuzz '$(TARGET)' '$(TIME)' $(if $(INPUT),'$(INPUT)')

coverage: setup ## Run the tests and show what they reach; fails where that is less than 95 % of the engine
	@scripts/coverage

docs: setup ## Make the reference as a web site
	@scripts/docs

clean: ## Remove everything that the goals above made
	@rm -rf '$(BUILD)' '$(ASAN_BUILD)' '$(TSAN_BUILD)' '$(ENGINE_BUILD)' '$(FUZZ_BUILD)'
	@rm -rf '$(COVERAGE_BUILD)' '$(DOCS_BUILD)' '$(MUTANTS_BUILD)'
	@rm -rf '$(RUN)/store' '$(RUN)/pictures' '$(RUN)/images' '$(RUN)/photos' '$(RUN)/sheet.png'
