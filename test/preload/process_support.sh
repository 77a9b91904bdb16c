# shellcheck shell=sh
# What the shell checks of whole processes share: how they skip, complain and end. Sourced, not run.
#
# Exit status 0 is a pass, 77 a skip with its reason on standard output, everything else a failure.

failures=0

skip() {
  printf 'skipped: %s\n' "$1"
  exit 77
}

complain() {
  printf 'FAIL: %s\n' "$1" >&2
  failures=$((failures + 1))
}

# expect WHAT EXPECTED SEEN
expect() {
  if [ "$2" = "$3" ]; then
    printf 'ok: %s\n' "$1"
  else
    complain "$1: expected \"$2\", seen \"$3\""
  fi
}

# make_scratch NAME: a folder that is gone when the check ends; sets scratch.
make_scratch() {
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/vvarclock-$1-XXXXXX") || exit 1
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 1' HUP INT TERM
}

# Last line of every check: its status.
finish() { [ "$failures" -eq 0 ]; }
