#!/bin/sh
# Runs every fuzz target for FUZZ_SECONDS (60), two at a time. Inputs that fail are in build-fuzz/findings/.
set -eu
cd "$(dirname "$0")/.."

export FUZZ_SECONDS="${FUZZ_SECONDS:-60}"
mkdir -p build-fuzz/corpus build-fuzz/findings

run_one='
    target=$1
    name=$(basename "$target" _fuzz)
    # New inputs go to the first folder, which is kept between runs; the seeds are only read.
    mkdir -p "build-fuzz/corpus/$name"
    seeds=""
    if [ -d "fuzz/corpus/$name" ]; then seeds="fuzz/corpus/$name"; fi
    log="build-fuzz/findings/$name.log"
    echo "fuzz: $name for $FUZZ_SECONDS s"
    if "$target" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="build-fuzz/findings/$name-" "build-fuzz/corpus/$name" $seeds >"$log" 2>&1; then
        echo "fuzz: $name clean, $(sed -n "s/^stat::number_of_executed_units: *//p" "$log") runs"
    else
        tail -n 60 "$log" >&2
        echo "fuzz: $name FAILED; see $log and build-fuzz/findings/$name-*" >&2
        exit 1
    fi'

targets=$(find build-fuzz/fuzz -maxdepth 1 -name '*_fuzz' -type f 2>/dev/null | sort)
if [ -z "$targets" ]; then
    echo "fuzz: no targets in fuzz/" >&2
    exit 1
fi
if ! printf '%s\n' $targets | xargs -n 1 -P 2 sh -c "$run_one" fuzz; then
    echo "fuzz: FAILED" >&2
    exit 1
fi
echo "fuzz: all clean"
