#!/bin/sh
# Formats every C++ file of the repository. With --check, lists the files that are not formatted, and fails if any.
set -eu
cd "$(dirname "$0")/.."

case "${1:-}" in
    --check) mode="--dry-run --Werror" ;;
    "") mode="-i" ;;
    *) echo "usage: $0 [--check]" >&2; exit 2 ;;
esac

dirs=""
for dir in include src tests examples bench fuzz; do
    if [ -d "$dir" ]; then
        dirs="$dirs $dir"
    fi
done
if [ -z "$dirs" ]; then
    exit 0
fi
if find $dirs \( -name '*.hpp' -o -name '*.cpp' \) -print0 | xargs -0 -r -n 16 -P 2 clang-format-19 $mode; then
    if [ "$mode" != "-i" ]; then
        echo "format: clean"
    fi
else
    echo "format: run \`make format\`" >&2
    exit 1
fi
