#!/bin/sh
# Runs every fuzz target for FUZZ_SECONDS (60), two at a time. Inputs that fail are in build-fuzz/findings/; inputs that
# reach new code are in build-fuzz/corpus/, for the next run.
#
#     scripts/fuzz.sh          run the targets
#     scripts/fuzz.sh --keep   add the inputs of build-fuzz/corpus/ that reach code which the seeds in fuzz/corpus/ do not
#                              reach, up to 4 KiB each and 200 for each target
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
if [ "${1:-}" = --keep ]; then
    for target in $targets; do
        name=$(basename "$target" _fuzz)
        new=build-fuzz/merged/$name
        rm -rf "$new"
        mkdir -p "fuzz/corpus/$name" "build-fuzz/corpus/$name" "$new"
        cp -r "fuzz/corpus/$name/." "$new"
        "$target" -merge=1 -max_len=4096 -timeout=10 -rss_limit_mb=2048 "$new" "build-fuzz/corpus/$name" \
            >"build-fuzz/findings/$name-merge.log" 2>&1
        # The smallest inputs first: the seeds are there already.
        room=$((200 - $(find "fuzz/corpus/$name" -type f | wc -l)))
        find "$new" -type f -size -5k | while read -r file; do
            [ -e "fuzz/corpus/$name/$(basename "$file")" ] || echo "$(stat -c %s "$file") $file"
        done | sort -n | head -n "$((room > 0 ? room : 0))" | while read -r _ file; do cp "$file" "fuzz/corpus/$name/"; done
        echo "fuzz: $name has $(find "fuzz/corpus/$name" -type f | wc -l) inputs"
    done
    exit 0
fi
if ! printf '%s\n' $targets | xargs -n 1 -P 2 sh -c "$run_one" fuzz; then
    echo "fuzz: FAILED" >&2
    exit 1
fi
echo "fuzz: all clean"
