#!/bin/sh
# Installs missing Debian packages (Debian 12). Returns quickly if nothing is missing.
#
#   scripts/setup.sh build   the packages for building and running allm
#   scripts/setup.sh         these, and the packages for its tests and lints
#   scripts/setup.sh foreign the packages for `make foreign`, without those of `build`
#
# ALLM_SKIP_SETUP=1 skips this, for systems that install the dependencies in another way.
set -eu

build_packages="
    g++ make cmake ninja-build ccache mold pkg-config python3
    nlohmann-json3-dev libsimdjson-dev libre2-dev libfmt-dev libcurl4-openssl-dev libcli11-dev libtomlplusplus-dev
    libseccomp-dev libsqlite3-dev libpq-dev
    libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libssl-dev libboost-dev"
test_packages="
    clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev llvm-19
    util-linux json-schema-test-suite nghttp2-proxy postgresql
    groff-base man-db zsh fish"
# An npm that was not installed by Debian's packages is as good.
foreign_packages=""
command -v npm >/dev/null || foreign_packages="nodejs npm"

case "${1:-all}" in
    build) packages=$build_packages ;;
    all) packages="$build_packages $test_packages" ;;
    foreign) packages=$foreign_packages ;;
    *) echo "usage: $0 [build|all|foreign]" >&2; exit 2 ;;
esac

if [ -n "${ALLM_SKIP_SETUP:-}" ] || [ -z "$packages" ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "setup: this needs apt-get (Debian 12 or a relative). On another system install the equivalents of" >&2
    echo "setup:" $packages >&2
    echo "setup: and set ALLM_SKIP_SETUP=1." >&2
    exit 1
fi

# One dpkg-query for all packages. It fails if a package is unknown, which is not an error here.
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $packages 2>/dev/null || true)
missing=""
for package in $packages; do
    case "
$installed
" in
        *"
$package installed
"*) ;;
        *) missing="$missing $package" ;;
    esac
done
if [ -z "$missing" ]; then
    exit 0
fi

sudo=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: missing:$missing" >&2
        echo "setup: install them as root: apt-get install$missing" >&2
        exit 1
    fi
    sudo="sudo"
fi
echo "setup: installing$missing"
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
echo "setup: done"
