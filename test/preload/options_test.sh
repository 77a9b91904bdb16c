#!/bin/sh
# Guards against: an environment variable that does something else than it says, talks when it should not, or harms the host.
#
# Usage: options_test.sh LIBRARY PROBE, the probe telling for each call whether the page or the system call answers.
set -u
# shellcheck source=test/preload/process_support.sh
. "${0%/*}/process_support.sh"
library=$1
probe=$2
make_scratch options

# run [VARIABLE=VALUE...]: the probe under the library; sets status and err, leaves its output in $scratch/out.
run() {
  env LD_PRELOAD="$library" "$@" "$probe" who >"$scratch/out" 2>"$scratch/err"
  status=$?
  err=$(cat "$scratch/err")
}

answers() { sed 's/.*: //' "$scratch/out" | sort -u | tr '\n' ' '; }
lines() { awk 'END { print NR }' "$scratch/err"; }

# What this system lets be served: asked of libc alone.
VVARCLOCK_TEST_LIBRARY=libc.so.6 "$probe" who >"$scratch/out"
status=$?
if [ "$status" -eq 77 ]; then
  cat "$scratch/out"
  exit 77
fi
by_kernel=$(cat "$scratch/out")
all_page='page '
case $by_kernel in
  *syscall*) all_page='page syscall ' ;;
esac

# expect_served NAME [VARIABLE=VALUE...]: as without any variable, and silent.
expect_served() {
  name=$1
  shift
  run "$@"
  expect "$name: status" 0 "$status"
  expect "$name: who answers" "$all_page" "$(answers)"
  expect "$name: silent" '' "$err"
}

# expect_by_syscall NAME VARIABLE=VALUE...
expect_by_syscall() {
  name=$1
  shift
  run "$@"
  expect "$name: status" 0 "$status"
  expect "$name: who answers" 'syscall ' "$(answers)"
  expect "$name: silent" '' "$err"
}

# expect_complaint VARIABLE VALUE DEFAULT: one line that names all three, and the default in force.
expect_complaint() {
  run "$1=$2"
  expect "$1=$2: status" 0 "$status"
  expect "$1=$2: who answers" "$all_page" "$(answers)"
  expect "$1=$2: lines on standard error" 1 "$(lines)"
  case $err in
    "vvarclock: "*"$1"*"$2"*"$3"*) ;;
    *) complain "$1=$2: the line does not name variable, value and default $3: $err" ;;
  esac
}

# value KEY FILE: a value of a one-line JSON report.
value() { sed -n "s/.*\"$1\": \"\\{0,1\\}\\([a-z]*\\).*/\\1/p" "$2"; }

# order_in_force WISH: what the report says.
order_in_force() {
  rm -f "$scratch/order.json"
  run VVARCLOCK_ORDER="$1" VVARCLOCK_REPORT="$scratch/order.json"
  value order "$scratch/order.json"
}

expect_served 'no variable' VVARCLOCK_UNRELATED=1
for value in on ON 1 yes ''; do
  expect_served "VVARCLOCK=$value" VVARCLOCK="$value"
done
for value in off OFF Off 0 no; do
  expect_by_syscall "VVARCLOCK=$value" VVARCLOCK="$value"
done
for value in syscall SysCall; do
  expect_by_syscall "VVARCLOCK_SOURCE=$value" VVARCLOCK_SOURCE="$value"
done
for value in auto vvar VVAR ''; do
  expect_served "VVARCLOCK_SOURCE=$value" VVARCLOCK_SOURCE="$value"
done
for value in auto syscall SysCall ''; do
  expect_served "VVARCLOCK_RAW=$value" VVARCLOCK_RAW="$value" # the page has the raw clock
done
for value in ordered unordered lfence Unordered ''; do
  expect_served "VVARCLOCK_ORDER=$value" VVARCLOCK_ORDER="$value"
done
expect 'order unordered in force' unordered "$(order_in_force unordered)"
expect 'order lfence in force' lfence "$(order_in_force LFENCE)"
default_order=$(order_in_force ordered)
case $default_order in
  lfence | rdtscp) ;;
  *) complain "order ordered became \"$default_order\"" ;;
esac
expect 'an unknown order is the default order' "$default_order" "$(order_in_force sometimes)"

expect_complaint VVARCLOCK maybe on
expect_complaint VVARCLOCK_ORDER sometimes ordered
expect_complaint VVARCLOCK_SOURCE hpet auto
expect_complaint VVARCLOCK_RAW line auto
expect_complaint VVARCLOCK_REPORT loud none
run VVARCLOCK=maybe VVARCLOCK_ORDER=sometimes VVARCLOCK_SOURCE=hpet VVARCLOCK_RAW=line VVARCLOCK_REPORT=loud
expect 'five unknown values: lines' 5 "$(lines)"
expect 'five unknown values: who answers' "$all_page" "$(answers)"

# A value is a stranger's text: no escape sequence, no second line, no flood comes through.
nasty=$(printf 'a\033[31m\nvvarclock: b\t\377c')
run VVARCLOCK_ORDER="$nasty"
expect 'control characters in a value: lines' 1 "$(lines)"
expect 'control characters in a value: bytes outside the printable' 0 \
  "$(LC_ALL=C tr -d '\n -~' <"$scratch/err" | wc -c | tr -d ' ')"
long=$(awk 'BEGIN { while (n++ < 20000) printf "x" }')
run VVARCLOCK_ORDER="$long"
expect 'a value of 20000 letters: lines' 1 "$(lines)"
[ "$(wc -c <"$scratch/err")" -lt 1000 ] || complain 'a value of 20000 letters was repeated at length'

# The longest that exec takes, and every control character, in each variable by turns and in all together. The report's path has
# a slash; and a variable that stands there twice counts once.
longest=$(head -c 131000 /dev/zero | tr '\0' x)
# Every byte but zero; as an argument it may not end in a new line, which $(...) would cut off.
control=$(awk 'BEGIN { for (i = 1; i < 256; ++i) if (i != 47) printf "%c", i; printf "." }' | LC_ALL=C tr -d '\n')$(printf '\n.')
hostile_lines() {
  [ "$(lines)" -eq "$2" ] || complain "$1: $(lines) lines on standard error, expected $2"
  expect "$1: status" 0 "$status"
  expect "$1: who answers" "$all_page" "$(answers)"
  expect "$1: bytes outside the printable" 0 "$(LC_ALL=C tr -d '\n -~' <"$scratch/err" | wc -c | tr -d ' ')"
  [ "$(wc -c <"$scratch/err")" -lt 2600 ] || complain "$1: a flood on standard error"
}
for variable in VVARCLOCK VVARCLOCK_ORDER VVARCLOCK_SOURCE VVARCLOCK_RAW VVARCLOCK_REPORT; do
  run "$variable=$longest"
  hostile_lines "$variable of 131000 letters" 1
  run "$variable=$control"
  hostile_lines "$variable of every control character" 1
done
run VVARCLOCK="$control" VVARCLOCK_ORDER="$control" VVARCLOCK_SOURCE="$control" VVARCLOCK_RAW="$control" VVARCLOCK_REPORT="/$control"
hostile_lines 'every variable of control characters, the report a path' 5
run VVARCLOCK_REPORT="$scratch/no/$longest"
hostile_lines 'a report path of 131000 letters' 1
run VVARCLOCK_REPORT="/$control/$control"
hostile_lines 'a report path of control characters' 1
if command -v python3 >/dev/null; then
  python3 - "$probe" "$library" >"$scratch/out" 2>"$scratch/err" <<'END'
import ctypes, sys
words = [b"LD_PRELOAD=" + sys.argv[2].encode(), b"VVARCLOCK_ORDER=", b"VVARCLOCK_ORDER", b"=", b"", b"VVARCLOCK_SOURCE=syscall",
         b"VVARCLOCK_SOURCE=vvar", b"VVARCLOCK=on", b"VVARCLOCK=off"]
environment = (ctypes.c_char_p * (len(words) + 1))(*words, None)
arguments = (ctypes.c_char_p * 3)(sys.argv[1].encode(), b"who", None)
ctypes.CDLL(None).execve(sys.argv[1].encode(), arguments, environment)
END
  status=$?
  expect 'words without a value and variables twice: status' 0 "$status"
  expect 'a variable that stands there twice: the first counts' 'syscall ' "$(answers)"
else
  echo 'variables twice: python3 is not installed'
fi

finish
