#!/bin/sh
# Runs a test program as the user nobody if this user is root. Any other user has run the tests without privileges
# already, and need not run them again.
#
#     RESULTS=FILE.json scripts/unprivileged.sh PROGRAM [ARGUMENT...]
set -eu
if [ "$(id -u)" -ne 0 ]; then
    echo "unprivileged: this user is not root, so the normal run of the tests is enough"
    exit 0
fi
as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
if ! $as_nobody test -x "$1"; then
    echo "unprivileged: skipped, because the user nobody may not enter the folder of $1" >&2
    exit 0
fi
# That user can write neither to the build folder nor to root's home.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 777 "$folder"
status=0
HOME="$folder" GTEST_OUTPUT="json:$folder/results.json" $as_nobody "$@" || status=$?
if [ -n "${RESULTS:-}" ] && [ -f "$folder/results.json" ]; then
    mkdir -p "$(dirname "$RESULTS")"
    cp "$folder/results.json" "$RESULTS"
fi
exit "$status"
