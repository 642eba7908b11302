# A thin face on CMake; `make help` lists what there is. JOBS=n limits parallel compilation.
.DEFAULT_GOAL := help
.PHONY: help setup setup-build build run test bench lint includes snippets headers tidy format format-check fuzz debug asan tsan \
	install clean

export JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

setup:  ## install what is missing (Debian packages)
	@scripts/setup.sh

setup-build:
	@scripts/setup.sh build

build: setup-build  ## Release build: build/allm, build/allm_bench, tests, examples
	@scripts/build.sh release

run: setup-build  ## build the command and watch an agent at work
	@scripts/build.sh release --target allm_cli
	build/allm demo $(ARGS)

test: setup  ## format, lints, clang-tidy, all tests, examples and scenarios, plainly and under ASan+UBSan and TSan
	@scripts/test.sh

bench: build  ## run the benchmarks (ARGS=--benchmark_filter=... and other flags of Google Benchmark)
	build/allm_bench $(ARGS)
	build/allm_lane_bench

lint: setup includes snippets headers tidy  ## include order, code in documents, self-contained headers, clang-tidy-19

includes:
	@scripts/lint_includes.py --self-test
	@scripts/lint_includes.py

snippets:
	@scripts/check_snippets.py --self-test
	@scripts/check_snippets.py

headers:
	@scripts/build.sh release --target all_verify_interface_header_sets

tidy: setup  ## clang-tidy-19 over what changed
	@scripts/build.sh tidy

format: setup  ## format all C++ files
	@scripts/format.sh

format-check: setup  ## say which files are not formatted
	@scripts/format.sh --check

fuzz: setup  ## run each fuzz target for FUZZ_SECONDS (60), two at a time
	@scripts/build.sh fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh

debug: setup  ## debug build in build-debug, and its tests
	@scripts/build.sh debug
	@ctest --preset debug

asan: setup  ## AddressSanitizer and UBSan build, and its tests
	@scripts/build.sh asan
	@ctest --preset asan

tsan: setup  ## ThreadSanitizer build, and its tests
	@scripts/build.sh tsan
	@ctest --preset tsan

install: build  ## install below PREFIX (/usr/local)
	cmake --install build --prefix $(PREFIX)

clean:  ## remove all build folders
	rm -rf build build-debug build-asan build-tsan build-fuzz build-tidy
