#!/bin/sh
# What must hold before a change goes in, the quick checks first. Stops at the first failure.
set -u
cd "$(dirname "$0")/.."

summary=""
start=$(date +%s)

step() { # step <name> <command>...
    name=$1
    shift
    printf '\n==== %s\n' "$name"
    step_start=$(date +%s)
    if "$@"; then
        summary="$summary$(printf '  ok      %-60s %4d s' "$name" $(($(date +%s) - step_start)))
"
    else
        summary="$summary$(printf '  FAILED  %-60s %4d s' "$name" $(($(date +%s) - step_start)))
"
        finish 1
    fi
}

finish() {
    printf '\n==== summary\n%s' "$summary"
    if [ "$1" -eq 0 ]; then
        printf 'make test: PASSED in %d s\n' $(($(date +%s) - start))
    else
        printf 'make test: FAILED after %d s; the steps after the failed one did not run\n' $(($(date +%s) - start))
    fi
    exit "$1"
}

run_preset() { # run_preset <preset>
    scripts/build.sh "$1" && ctest --preset "$1" -j "${JOBS:-2}"
}

step "format" scripts/format.sh --check
step "include order, self-test of the lint" scripts/lint_includes.py --self-test
step "include order" scripts/lint_includes.py
step "code in documents, self-test of the check" scripts/check_snippets.py --self-test
step "code in documents" scripts/check_snippets.py
step "release: build, unit tests, examples" run_preset release
if [ -d tests/scenarios ]; then
    step "release: scenarios" build/allm scenario tests/scenarios
fi
step "headers stand alone" scripts/build.sh release --target all_verify_interface_header_sets
step "clang-tidy-19" scripts/build.sh tidy
step "asan+ubsan: build, all tests, scenarios" run_preset asan
step "tsan: build, tests of all that knows threads, scenarios" run_preset tsan
finish 0
