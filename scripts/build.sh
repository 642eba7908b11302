#!/bin/sh
# scripts/build.sh PRESET [options of cmake --build]: configures if that was not done before, then builds.
set -eu
cd "$(dirname "$0")/.."

preset=$1
shift
case "$preset" in
    release) dir=build ;;
    *) dir="build-$preset" ;;
esac
if [ ! -f "$dir/build.ninja" ]; then
    cmake --preset "$preset"
fi
exec cmake --build --preset "$preset" ${JOBS:+-j "$JOBS"} "$@"
