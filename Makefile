# Short commands for CMake and scripts/; `make help` lists them. JOBS=n limits parallel compilation.
.DEFAULT_GOAL := help
.PHONY: help setup setup-build build run test test-long torture check bench bench-stores lint tidy format format-check fuzz fuzz-keep debug asan tsan \
	foreign install clean

export JOBS ?= $(shell nproc)
# LONG=1: an hour for each fuzz target.
FUZZ_SECONDS ?= $(if $(LONG),3600,60)
PREFIX ?= /usr/local

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

setup:  ## install what is missing (Debian packages)
	@scripts/setup.sh

setup-build:
	@scripts/setup.sh build

run: setup-build  ## build the command and run its demo: an agent with a scripted model
	@scripts/job.py run
	@build/allm demo $(ARGS)

test: setup  ## what contributors and the CI run: checks, and all tests in release, under ASan+UBSan and under TSan
	@scripts/job.py test

debug: setup  ## debug build, and the tests of the folders you changed (FOLDER=chat: of src/chat, FOLDER=all: all)
	@scripts/job.py debug $(FOLDER)

test-long: setup  ## all tests in all three builds, with ten times the random cases and kills
	@scripts/job.py test-long

torture: setup  ## release build, and 12,000 kills of a program that runs sessions on SQLite and PostgreSQL
	@scripts/build.sh release
	@build/tests/allm_kill_matrix 12000

check: setup  ## everything: test-long, soaks, clang-tidy, debug, shared libraries, fuzz targets (LONG=1: an hour each)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/job.py check

build: setup-build  ## release build: build/allm, build/allm_bench, tests, examples
	@scripts/build.sh release

asan: setup  ## AddressSanitizer and UBSan build, and its tests
	@scripts/job.py asan

tsan: setup  ## ThreadSanitizer build, and its tests
	@scripts/job.py tsan

lint: setup  ## format, include order, documents, self-contained headers, clang-tidy on folders that changed
	@scripts/job.py lint

tidy: setup  ## clang-tidy on every file
	@scripts/build.sh tidy

format: setup  ## format all C++ files
	@scripts/format.sh

format-check: setup  ## list the files that are not formatted
	@scripts/format.sh --check

fuzz: setup  ## run each fuzz target for FUZZ_SECONDS (60), two at a time
	@scripts/build.sh fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh

fuzz-keep:  ## add inputs that the fuzz targets found to the seeds in fuzz/corpus
	@scripts/fuzz.sh --keep

foreign: setup-build  ## run against mock servers and beside the clients of others (npm packages; not part of test)
	@scripts/setup.sh foreign
	@scripts/job.py foreign
	@scripts/foreign.sh run build/tests/allm_foreign_driver $(ARGS)

bench: build  ## run the benchmarks (ARGS=--benchmark_filter=... and other flags of Google Benchmark)
	build/allm_bench $(ARGS)
	build/allm_lane_bench

bench-stores: setup  ## session stores beside a bare program and LangGraph (npm packages; ARGS=steps, workers, loads or lists)
	@scripts/setup.sh foreign
	@scripts/build.sh release --target allm_store_bench
	@scripts/peers.sh install
	build/allm_store_bench --peer "scripts/peers.sh langgraph" $(ARGS)

install: build  ## install below PREFIX (/usr/local)
	cmake --install build --prefix $(PREFIX)

clean:  ## remove all build folders
	rm -rf build build-debug build-asan build-tsan build-fuzz build-tidy build-shared build-foreign build-peers
