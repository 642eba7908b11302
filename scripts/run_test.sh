#!/bin/sh
# Runs a test with its output in a file, and shows the file when the test has ended or has been stopped. ctest itself
# would wait for the end of every process that has the test's output open. So a process that a test left behind would
# delay the report until the time limit, or for ever.
#
#     scripts/run_test.sh SECONDS OUTPUT COMMAND [ARGUMENT...]
#
# The time limit is SECONDS, times ALLM_TEST_SCALE, plus ALLM_SOAK_SECONDS.
set -eu
seconds=$(($1 * ${ALLM_TEST_SCALE:-1} + ${ALLM_SOAK_SECONDS:-0}))
output=$2
shift 2
mkdir -p "$(dirname "$output")"
status=0
timeout --foreground --kill-after=10 "$seconds" "$@" >"$output" 2>&1 </dev/null || status=$?
cat "$output"
if [ "$status" -eq 124 ]; then
    echo "run_test: stopped after $seconds s"
fi
exit "$status"
