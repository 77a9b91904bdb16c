#!/bin/sh
# Guards against: a machine that is left with another clock source than it had.
#
# clocksource_switch.sh on a folder that looks like the kernel's: run to its end, with a program that fails, ended by each
# polite signal, and killed outright. Each time the first source must stand there again.
set -u
# shellcheck source=test/preload/process_support.sh
. "${0%/*}/process_support.sh"
script=${0%/*}/clocksource_switch.sh
command -v setsid >/dev/null || skip 'setsid is not installed (Debian: util-linux)'
make_scratch clocksource
source_file=$scratch/current_clocksource

# await VALUE: until the file holds it, or a minute is over.
await() {
  rounds=0
  while [ "$(cat "$source_file")" != "$1" ]; do
    rounds=$((rounds + 1))
    [ "$rounds" -lt 1200 ] || return 1
    sleep 0.05
  done
}

echo kvm-clock >"$source_file"
"$script" "$scratch" tsc sleep 3 >"$scratch/out" 2>&1 || complain "to its end: $(cat "$scratch/out")"
[ "$(cat "$source_file")" = kvm-clock ] || complain 'to its end: not restored'
grep -q 'changed [0-9][0-9]* times between kvm-clock and tsc' "$scratch/out" || complain 'to its end: no change was counted'

"$script" "$scratch" tsc sh -c 'sleep 3; exit 7' >"$scratch/out" 2>&1
status=$?
[ "$status" -eq 7 ] || complain "a failing program: status $status"
[ "$(cat "$source_file")" = kvm-clock ] || complain 'a failing program: not restored'

"$script" "$scratch" tsc true >"$scratch/out" 2>&1 && complain 'a program that ends at once saw no change, and yet all was well'

for signal in TERM INT HUP KILL; do
  "$script" "$scratch" tsc sleep 5 >/dev/null 2>&1 &
  script_id=$!
  if ! await tsc; then
    complain "$signal: the source never changed"
  fi
  kill -s "$signal" "$script_id"
  wait "$script_id" 2>/dev/null
  await kvm-clock || complain "$signal: not restored"
  # And it stays so: nothing of the script goes on switching.
  sleep 0.5
  [ "$(cat "$source_file")" = kvm-clock ] || complain "$signal: changed again after the script had ended"
done

finish && echo 'restored after success, failure, TERM, INT, HUP and KILL'
