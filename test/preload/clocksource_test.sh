#!/bin/sh
# Guards against: a wrong value while, or after, the kernel changes its clock source under the running process.
#
# It changes the machine, so it runs only when VVARCLOCK_TEST_CLOCKSOURCE=1 asks, as root, and with two sources to choose from.
# Usage: clocksource_test.sh LIBRARY THREADS_PROGRAM
set -u
# shellcheck source=test/preload/process_support.sh
. "${0%/*}/process_support.sh"
library=$1
program=$2
folder=/sys/devices/system/clocksource/clocksource0

[ "${VVARCLOCK_TEST_CLOCKSOURCE:-}" = 1 ] ||
  skip 'it switches the clock source of the machine (and back); VVARCLOCK_TEST_CLOCKSOURCE=1 allows that'
[ -r "$folder/available_clocksource" ] || skip "there is no $folder"
[ -w "$folder/current_clocksource" ] || skip 'switching the clock source needs root'
current=$(cat "$folder/current_clocksource")
available=$(cat "$folder/available_clocksource")

# A source with a clock mode of its own, if there is one; else any.
other=
for source in $available tsc kvm-clock; do
  case " $available " in
    *" $source "*) [ "$source" = "$current" ] || other=$source ;;
  esac
done
[ -n "$other" ] || skip "the only clock source here is $current"

for order in ordered unordered; do
  echo "$order, $current and $other:"
  "${0%/*}/clocksource_switch.sh" "$folder" "$other" \
    env VVARCLOCK_ORDER="$order" LD_PRELOAD="$library" "$program" 12 || exit 1
done
