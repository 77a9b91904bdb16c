#!/bin/sh
# Guards against: a report that is not what it should be, or that harms the host on its way out.
#
# Usage: report_test.sh LIBRARY PROBE UNTOUCHED_TEST
set -u
# shellcheck source=test/preload/process_support.sh
. "${0%/*}/process_support.sh"
library=$1
probe=$2
untouched=$3
make_scratch report

# report VALUE [VARIABLE=VALUE...]: a host that prints one line, under the library; sets status.
report() {
  wanted=$1
  shift
  env LD_PRELOAD="$library" VVARCLOCK_REPORT="$wanted" "$@" timeout 60 /bin/echo host >"$scratch/out" 2>"$scratch/err"
  status=$?
}

# expect_host_unharmed NAME
expect_host_unharmed() {
  expect "$1: status of the host" 0 "$status"
  expect "$1: output of the host" host "$(cat "$scratch/out")"
}

# expect_json NAME FILE: parses, and names the facts.
expect_json() {
  if command -v python3 >/dev/null; then
    python3 -m json.tool <"$2" >"$scratch/json" 2>&1 || complain "$1: not JSON: $(cat "$scratch/json")"
  else
    echo "$1: python3 is not installed, so JSON is not parsed"
  fi
  for key in version attached on source order outcome layout clock_mode vdso served CLOCK_MONOTONIC CLOCK_TAI refusals; do
    grep -q "\"$key\": " "$2" || complain "$1: no \"$key\""
  done
}

# To standard error. timeout and the host both load the library, so the host's own run is the last.
env LD_PRELOAD="$library" VVARCLOCK_REPORT=1 /bin/echo host >"$scratch/out" 2>"$scratch/err"
status=$?
expect_host_unharmed 'REPORT=1'
expect 'REPORT=1: lines that do not name us' 0 "$(grep -vc '^vvarclock: ' "$scratch/err")"
grep -q 'CLOCK_MONOTONIC' "$scratch/err" || complain 'REPORT=1: nothing about CLOCK_MONOTONIC'

env LD_PRELOAD="$library" VVARCLOCK_REPORT=JSON /bin/echo host >"$scratch/out" 2>"$scratch/err"
status=$?
expect_host_unharmed 'REPORT=json'
expect 'REPORT=json: lines' 1 "$(awk 'END { print NR }' "$scratch/err")"
expect_json 'REPORT=json' "$scratch/err"
for variable in VVARCLOCK=off VVARCLOCK_SOURCE=syscall VVARCLOCK_ORDER=unordered; do
  env LD_PRELOAD="$library" VVARCLOCK_REPORT=json "$variable" /bin/true 2>"$scratch/err"
  expect_json "REPORT=json $variable" "$scratch/err"
done

# To a file.
report "$scratch/text"
expect_host_unharmed 'REPORT=path'
expect 'REPORT=path: silent' '' "$(cat "$scratch/err")"
grep -q '^vvarclock: .*CLOCK_MONOTONIC' "$scratch/text" || complain 'REPORT=path: nothing about CLOCK_MONOTONIC'
expect 'REPORT=path: nobody else may read it' '600' "$(stat -c %a "$scratch/text")"
before=$(wc -l <"$scratch/text")
report "$scratch/text"
[ "$(wc -l <"$scratch/text")" -gt "$before" ] || complain 'REPORT=path: a second run did not append'
env LD_PRELOAD="$library" VVARCLOCK_REPORT="$scratch/file.json" /bin/true
expect_json 'REPORT=path.json' "$scratch/file.json"

# Paths that are traps: a link to a file, a link to nothing, a pipe without a reader, a folder, no such folder, a full device.
echo precious >"$scratch/precious"
ln -s "$scratch/precious" "$scratch/link"
ln -s "$scratch/nowhere" "$scratch/dangling"
mkfifo "$scratch/pipe"
for trap_name in link dangling pipe '' missing/file; do
  report "$scratch/$trap_name"
  expect_host_unharmed "REPORT=$trap_name"
  [ -s "$scratch/err" ] || complain "REPORT=$trap_name: no word about a report that went nowhere"
  expect "REPORT=$trap_name: lines that do not name us" 0 "$(grep -vc '^vvarclock: ' "$scratch/err")"
done
expect 'a symbolic link is not followed' precious "$(cat "$scratch/precious")"
[ ! -e "$scratch/nowhere" ] || complain 'a dangling symbolic link was followed'

# Standard error that takes nothing.
env LD_PRELOAD="$library" VVARCLOCK_REPORT=1 /bin/echo host >"$scratch/out" 2>&-
status=$?
expect_host_unharmed 'REPORT=1, standard error closed'
if [ -w /dev/full ]; then
  env LD_PRELOAD="$library" VVARCLOCK_REPORT=1 /bin/echo host >"$scratch/out" 2>/dev/full
  status=$?
  expect_host_unharmed 'REPORT=1, standard error full'
fi
# The reader is gone before the host starts.
{
  sleep 0.2
  env LD_PRELOAD="$library" VVARCLOCK_REPORT=1 /bin/echo host >"$scratch/out" 2>&3
  echo $? >"$scratch/status"
} 3>&1 >/dev/null | true
status=$(cat "$scratch/status")
expect_host_unharmed 'REPORT=1, standard error a pipe that nobody reads'
# Attaching with a report leaves the process as attaching without one does.
VVARCLOCK_REPORT="$scratch/untouched" "$untouched" "$probe" "$library" ||
  complain 'a process with a report is not as without the library'
[ -s "$scratch/untouched" ] || complain 'no report was written there'

finish
