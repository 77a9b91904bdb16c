#!/bin/sh
# Runs a program while the machine's clock source alternates between two, and puts the first one back in every case.
#
# Also when this script is killed: a watcher in a session of its own, deaf to polite signals, waits for the script's end,
# whatever that is, and restores. Status: the program's own, or 1 when the source did not change often enough or was not restored.
# Usage: clocksource_switch.sh FOLDER OTHER_SOURCE PROGRAM [ARGUMENT...]
# FOLDER is /sys/devices/system/clocksource/clocksource0, or one like it for trying this script.
set -u
current=$1/current_clocksource
other=$2
shift 2
least_changes=10
original=$(cat "$current") || exit 1

restore() {
  echo "$original" >"$current"
  [ "$(cat "$current")" = "$original" ]
}

# The watcher's text, in single quotes for its own shell. It holds no descriptor of ours, so that nobody waits for it.
# shellcheck disable=SC2016
setsid sh -c '
  trap "" HUP INT TERM
  while kill -0 "$1" 2>/dev/null; do sleep 0.2; done
  [ "$(cat "$2")" = "$3" ] || echo "$3" >"$2"
' watcher "$$" "$current" "$original" </dev/null >/dev/null 2>&1 &

trap 'restore || echo "FAIL: the clock source is not $original again" >&2' EXIT
trap 'exit 1' HUP INT TERM

"$@" &
program=$!
changes=0
while kill -0 "$program" 2>/dev/null; do
  for source in "$other" "$original"; do
    echo "$source" >"$current"
    [ "$(cat "$current")" = "$source" ] && changes=$((changes + 1))
    sleep 0.1
  done
done
wait "$program"
status=$?

restore || exit 1
echo "the clock source changed $changes times between $original and $other"
if [ "$changes" -lt "$least_changes" ]; then
  echo "FAIL: fewer than $least_changes changes: the kernel refuses them" >&2
  exit 1
fi
exit "$status"
