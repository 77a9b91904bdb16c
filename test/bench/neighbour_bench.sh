#!/bin/sh
# Runs neighbour_bench under the library, with the places of what lies beside the data that every call reads.
#
# Usage: neighbour_bench.sh PROGRAM LIBRARY [ROUNDS]
set -eu
program=$1
library=$2
shift 2

command -v nm >/dev/null || {
  echo 'skipped: nm is not installed (Debian: binutils)'
  exit 77
}
# The dispatch table's page, and the writable object that comes first behind it.
places=$(LC_ALL=C nm --demangle --numeric-sort "$library" | awk '
  $3 == "vvarclock::serve::dispatch" { table = $1; next }
  table != "" && $2 ~ /^[bBdD]$/ { print table, $1, $3; exit }')
[ -n "$places" ] || {
  echo 'skipped: the library has no symbols: stripped?'
  exit 77
}
# shellcheck disable=SC2086 # three words
LD_PRELOAD=$library exec "$program" $places "$@"
