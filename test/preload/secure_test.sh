#!/bin/sh
# Guards against: a set-user-ID program that obeys its caller's environment.
#
# Such a program ignores a library preloaded by path, silently. One that is linked to the library obeys none of our variables:
# a report written with its rights would be a way in. Usage: secure_test.sh LIBRARY PROBE LINKED_PROBE
set -u
# shellcheck source=test/preload/process_support.sh
. "${0%/*}/process_support.sh"
library=$1
probe=$2
linked_probe=$3

[ "$(id -u)" -eq 0 ] || skip 'making a set-user-ID program needs root'
command -v setpriv >/dev/null || skip 'setpriv is not installed (Debian: util-linux)'

make_scratch secure
chmod 755 "$scratch"
# Theirs, not root's: nothing is at stake while the copies exist.
owner=$(id -u nobody 2>/dev/null) || skip 'there is no user nobody'
caller=$(id -u daemon 2>/dev/null) || skip 'there is no user daemon'
mkdir "$scratch/owners"
cp "$probe" "$scratch/probe"
cp "$linked_probe" "$scratch/linked_probe"
chown "$owner" "$scratch/owners" "$scratch/probe" "$scratch/linked_probe"
chmod 4755 "$scratch/probe" "$scratch/linked_probe"

# run PROGRAM VARIABLE=VALUE...: as the caller; sets status, out, err.
run() {
  program=$1
  shift
  setpriv --reuid="$caller" --regid="$caller" --clear-groups env "$@" "$program" secure >"$scratch/out" 2>"$scratch/err"
  status=$?
  out=$(cat "$scratch/out")
  err=$(cat "$scratch/err")
}

run "$scratch/probe" VVARCLOCK=on
[ "$out" = 'secure 1, clock_gettime from libc.so.6' ] || skip "no secure mode in $scratch (mounted nosuid?): $out $err"

run "$scratch/probe" LD_PRELOAD="$library" VVARCLOCK_REPORT=1
# env, which is no set-user-ID program, reports too; what it says comes first.
case $status:$out in
  '0:secure 1, clock_gettime from libc.so.6') ;;
  *) complain "preloaded by path: status $status, $out" ;;
esac
env -i LD_PRELOAD="$library" setpriv --reuid="$caller" --regid="$caller" --clear-groups "$scratch/probe" secure \
  >"$scratch/out" 2>"$scratch/err" || complain 'preloaded by path: the program failed'
[ ! -s "$scratch/err" ] || complain "preloaded by path: not silent: $(cat "$scratch/err")"

# What cannot be loaded with the owner's rights proves nothing.
setpriv --reuid="$owner" --regid="$caller" --clear-groups test -r "$library" ||
  skip "the rest passed, but $library cannot be read by the program's owner"
for variable in VVARCLOCK_REPORT=1 VVARCLOCK_REPORT=json "VVARCLOCK_REPORT=$scratch/owners/report" VVARCLOCK=bad \
  VVARCLOCK_ORDER=bad VVARCLOCK_SOURCE=bad VVARCLOCK_RAW=bad; do
  run "$scratch/linked_probe" "$variable"
  case $status:$out in
    '0:secure 1, clock_gettime from libvvarclock.so') ;;
    *) complain "linked, $variable: status $status, $out $err" ;;
  esac
  [ -z "$err" ] || complain "linked, $variable: obeyed: $err"
done
[ ! -e "$scratch/owners/report" ] || complain 'a set-user-ID program wrote its caller a report'
# The same program without the set-user-ID bit does obey: the variable is one that works.
chmod 755 "$scratch/linked_probe"
run "$scratch/linked_probe" VVARCLOCK_REPORT=1
[ -n "$err" ] || complain 'linked, not set-user-ID: VVARCLOCK_REPORT=1 did nothing'

finish && echo 'preloaded by path: ignored silently; linked: no variable obeyed'
