#!/bin/sh
# Guards against: a whole-process check that passes whatever happens.
#
# Each check is run with a library that is wrong in one way, and must fail with a message about it; without the fault it must
# pass or, where only speed is wrong, say so. Usage: can_fail_test.sh WRONG_LIBRARY FOLDER_OF_CHECKS
set -u
# shellcheck source=test/preload/process_support.sh
. "${0%/*}/process_support.sh"
wrong=$1
folder=$2

# run_check FAULT CHECK [ARGUMENT...]: sets status and output.
run_check() {
  fault=$1
  check=$2
  shift 2
  case $check in
    untouched_test) preload='' ;; # preloads by itself
    *) preload=$wrong ;;
  esac
  output=$(VVARCLOCK_TEST_FAULT=$fault VVARCLOCK_TEST_LIBRARY=${wrong##*/} VVARCLOCK_TEST_FULL=0 LD_PRELOAD=$preload \
    timeout 120 "$folder/$check" "$@" 2>&1)
  status=$?
}

# expect_failure FAULT PATTERN CHECK [ARGUMENT...]
expect_failure() {
  fault=$1
  pattern=$2
  shift 2
  run_check "$fault" "$@"
  if [ "$status" -eq 0 ] || [ "$status" -eq 77 ]; then
    complain "$1 did not notice the fault $fault (status $status): $output"
  elif ! printf '%s\n' "$output" | grep -q -- "$pattern"; then
    complain "$1 failed under the fault $fault, but not with a message like '$pattern': $output"
  else
    printf '%s notices %s: %s\n' "$1" "$fault" "$(printf '%s\n' "$output" | grep -m 1 -- "$pattern")"
  fi
}

# expect_pass CHECK [ARGUMENT...]: the wrong library without a fault is slow and right.
expect_pass() {
  run_check none "$@"
  case $status in
    0 | 77) ;;
    *) complain "$1 failed without a fault (status $status): $output" ;;
  esac
}

users="$folder/libclock_user_preloaded.so $folder/libclock_user_opened.so"

expect_pass brackets_test 2000
expect_pass ids_test
expect_pass same_thread_test 20000
expect_pass signals_test 200
expect_pass threads_test 20
expect_pass fork_test
expect_pass soak 2
expect_pass waiting_test 2
expect_pass untouched_test "$folder/process_probe" "$wrong"
# shellcheck disable=SC2086 # two arguments, and meson's folders hold no spaces
expect_pass constructors_test $users

expect_failure ahead 'is not between' brackets_test 2000
expect_failure behind 'is not between' brackets_test 2000
expect_failure errno 'errno' ids_test
expect_failure resolution 'clock_getres(.* the system call' ids_test
expect_failure base 'timespec_get(base' ids_test
expect_failure rarely-back 'went back' same_thread_test 20000
expect_failure rarely-back 'had been handed over' handover_test 200000
expect_failure lock 'in a signal handler\|errno 35' signals_test 200
expect_failure thread-local 'thread-local storage: killed' threads_test 20
expect_failure ahead 'among many threads' threads_test 20
expect_failure parent-only 'after fork' fork_test
expect_failure ahead 'BREAK: ' soak 2
expect_failure rarely-back 'BREAK: ' soak 2
expect_failure rarely-back 'wrote to its own data' read_only_test
expect_failure none 'not read-only after attach' read_only_test
expect_failure behind 'clock_nanosleep REALTIME: awake' waiting_test 2
expect_failure slow 'nanosleep: awake' waiting_test 2
expect_failure parent-only 'forks .* [1-9][0-9]* broken' soak 2
expect_failure none 'killed by the filter' seccomp_test
expect_failure none 'system call was made' instructions_test
expect_failure counter 'the counter was read' instructions_test
for fault in descriptor talk environment handler mask start-errno; do
  expect_failure "$fault" 'the library' untouched_test "$folder/process_probe" "$wrong"
done
# shellcheck disable=SC2086
expect_failure late 'errno 11' constructors_test $users
# shellcheck disable=SC2086
expect_failure gone 'errno 11' constructors_test $users
if [ "$(id -u)" -eq 0 ] && [ -e /proc/self/ns/time ]; then
  expect_failure namespace-blind 'CLOCK_MONOTONIC (1): .* is not between' namespaces_test
fi
# The proof that a check runs under the library at all.
output=$(LD_PRELOAD='' "$folder/brackets_test" 10 2>&1)
status=$?
case $status:$output in
  1:*"the test proves nothing"*) ;;
  *) complain "brackets_test without the library gave status $status" ;;
esac

finish
