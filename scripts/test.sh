#!/bin/sh
# Runs every test of this tree and counts them: the last line is "N passed, N failed, N skipped".
#
# What is counted is the smallest thing that a test reports: a test case of Catch2, a point of TAP output, else the test itself.
set -eu
cd -- "$(dirname -- "$0")/.."
. scripts/lib/packages.sh
. scripts/lib/build.sh
. scripts/lib/libelf_32.sh

usage() {
    cat <<'END'
Usage: scripts/test.sh [argument of `meson test`...]

Installs by apt what the tests need and is missing, builds into build/, runs the tests and the
checks of the source (includes, format, clang-tidy, shell), names the skipped ones with their
reasons, and ends with "N passed, N failed, N skipped". Status 0 when none failed.

Arguments go to `meson test`: names of tests (`meson test -C build --list` prints them),
--suite NAME, --no-suite NAME, -v, and so on. The source checks are the suite "checks".

Environment:
  VVARCLOCK_TEST_CLOCKSOURCE=1   allows the test that switches the clock source of this machine
                                 (/sys/devices/system/clocksource) while it runs and then restores
                                 it. It needs root and is felt by every process of the machine, so
                                 without this variable it is skipped.
  VVARCLOCK_TEST_FULL=1          the long form of the whole-process tests: a million brackets for each
                                 clock and order, and so on. The default is quick.
END
}

for argument in "$@"; do
    case $argument in
        -h | --help)
            usage
            exit 0
            ;;
    esac
done

want_build
want_tests
install_wanted
set_up_build -Dtests=enabled -Di386_libdir="$(libelf_32)"
ninja -C build

log=build/meson-logs/testlog.json
rm -f -- "$log"
status=0
meson test -C build --no-rebuild --print-errorlogs --timeout-multiplier 3 "$@" || status=$?
exec python3 scripts/lib/count_results.py "$log" "$status"
