#!/bin/sh
# Guards against: harm to, or from, what is run together with the library: tools that preload, trace, confine or record, and
# children that cannot load it.
#
# Each companion is tried without the library first; what does not run here without it is a skip that says so.
# Usage: companions_test.sh COMPANION TOP LIBRARY PROBE BRACKETS SOURCE
#   PROBE and BRACKETS: built from test/preload; SOURCE: a C program that prints what a clock call costs
# shellcheck disable=SC2016 # what is in single quotes is for another shell or for gdb
set -u
# shellcheck source=test/preload/process_support.sh
. "${0%/*}/../preload/process_support.sh"
companion=$1
top=$2
library=$3
probe=$4
brackets=$5
source=$6
unset LD_PRELOAD LD_LIBRARY_PATH VVARCLOCK VVARCLOCK_ORDER VVARCLOCK_SOURCE VVARCLOCK_RAW VVARCLOCK_REPORT

make_scratch companions
chmod 755 "$scratch"
mkdir -p "$scratch/scripts" "$scratch/build/preload"
cp "$top/scripts/vvarclock" "$scratch/scripts/"
cp "$top/meson.build" "$scratch/"
cp "$library" "$scratch/build/preload/"
library=$scratch/build/preload/libvvarclock.so
wrapper=$scratch/scripts/vvarclock

need() { command -v "$1" >/dev/null || skip "$1 is not installed (Debian: $2)"; }

# without COMMAND...: a companion that does not work here says nothing about us.
without() {
  "$@" >"$scratch/out" 2>&1 </dev/null || skip "it does not work here without the library either: $* : $(tail -n 2 "$scratch/out")"
}

# same WHAT COMMAND...: the status is 0, the output is that of the probe under nothing but the library.
same() {
  same_what=$1
  shift
  "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || complain "$same_what: status $?, $(tail -n 3 "$scratch/err")"
  expect "$same_what: who answers" "$(cat "$scratch/who")" "$(grep -E ': (page|syscall)$' "$scratch/out")"
}

"$wrapper" "$probe" who >"$scratch/who" || complain "the probe under the library alone: status $?"
grep -q ': page$' "$scratch/who" || skip 'no clock is served here without companions either'

# Theirs is the date, ours what they do not touch. faketime appends itself to LD_PRELOAD, so it goes outside: README.
with_faketime() {
  need faketime faketime
  without faketime '2001-02-03 04:05:06' date +%Y
  expect 'the fake date wins' 2001 "$(faketime '2001-02-03 04:05:06' "$wrapper" date -u +%Y)"
  expect 'the library was there' vvarclock "$(faketime '2001-02-03 04:05:06' "$wrapper" --report date 2>&1 | grep -o '^vvarclock' | tail -n 1)"
  fake=$(faketime -f '+0 x2' sh -c 'echo $LD_PRELOAD')
  expect 'a fake clock named by hand wins too' 2001 "$(FAKETIME='@2001-02-03 04:05:06' LD_PRELOAD=$fake "$wrapper" date -u +%Y)"
}

with_fakeroot() {
  need fakeroot fakeroot
  without fakeroot true
  expect 'fakeroot outside' 0 "$(fakeroot "$wrapper" id -u)"
  expect 'fakeroot inside' 0 "$("$wrapper" fakeroot id -u)"
  same 'fakeroot outside' fakeroot "$wrapper" "$probe" who
  same 'fakeroot inside' "$wrapper" fakeroot "$probe" who
}

with_stdbuf() {
  need stdbuf coreutils
  same 'stdbuf outside' stdbuf -oL "$wrapper" "$probe" who
  same 'stdbuf inside' "$wrapper" stdbuf -oL "$probe" who
}

with_heaptrack() {
  need heaptrack heaptrack
  without heaptrack -o "$scratch/alone" /bin/true
  "$wrapper" heaptrack -o "$scratch/inside" "$brackets" 500 >"$scratch/out" 2>&1 || complain "heaptrack: status $?, $(tail "$scratch/out")"
  grep -q 'reads, none outside' "$scratch/out" || complain "heaptrack: the program did not run: $(tail "$scratch/out")"
  ls "$scratch"/inside* >/dev/null 2>&1 || complain 'heaptrack recorded nothing'
}

with_gdb() {
  need gdb gdb
  without gdb -q -batch -ex run "$brackets"
  gdb -q -batch -ex "set environment LD_PRELOAD $library" -ex 'break main' -ex run -ex 'info sharedlibrary' -ex 'delete' \
    -ex continue -ex 'printf "status %d\n", $_exitcode' --args "$brackets" 500 >"$scratch/out" 2>&1 </dev/null
  grep -q 'Yes .*libvvarclock.so' "$scratch/out" || complain "gdb has not read our symbols: $(cat "$scratch/out")"
  grep -q '^status 0$' "$scratch/out" || complain "gdb: $(tail "$scratch/out")"
}

with_strace() {
  need strace strace
  without strace -f -o "$scratch/log" true
  same 'strace inside' "$wrapper" strace -f -e trace=execve -o "$scratch/log" "$probe" who
  same 'strace outside' strace -f -e trace=execve -o "$scratch/log" "$wrapper" "$probe" who
}

with_perf() {
  need perf linux-perf
  without perf record -q -e cpu-clock -o "$scratch/data" true
  same 'perf stat' perf stat -e cpu-clock -o "$scratch/stat" "$wrapper" "$probe" who
  same 'perf record' perf record -q -g -e cpu-clock -o "$scratch/data" "$wrapper" "$probe" who
}

# A CPU without rdtscp: asking for it must not execute it.
with_emulated_cpu() {
  need qemu-x86_64 qemu-user
  for cpu in max,rdtscp=off core2duo; do
    without qemu-x86_64 -cpu "$cpu" -E VVARCLOCK_TEST_LIBRARY=libc.so.6 "$brackets" 200
    for order in ordered unordered lfence rdtscp; do
      qemu-x86_64 -cpu "$cpu" -E "LD_PRELOAD=$library" -E "VVARCLOCK_ORDER=$order" "$brackets" 200 >"$scratch/out" 2>&1 ||
        case $order:$(cat "$scratch/out") in
          *'Illegal instruction'*) complain "$cpu, $order: an instruction that this CPU has not" ;;
          'rdtscp:'*'this CPU does not offer rdtscp, taking lfence'*) ;;
          *) complain "$cpu, $order: $(tail -n 3 "$scratch/out")" ;;
        esac
    done
  done
}

# Everything as it is, but for an empty /proc and /sys and no user beside ours.
with_bubblewrap() {
  need bwrap bubblewrap
  confined() { bwrap --ro-bind / / --dev /dev --tmpfs /proc --tmpfs /sys --bind "$scratch" "$scratch" --unshare-pid --unshare-user "$@"; }
  without bwrap --ro-bind / / --dev /dev --tmpfs /proc --tmpfs /sys --unshare-pid --unshare-user true
  expect 'it has no /proc' '' "$(confined ls /proc)"
  same 'bubblewrap outside' confined "$wrapper" "$probe" who
  confined "$wrapper" "$brackets" 2000 >"$scratch/out" 2>&1 || complain "bubblewrap: status $?, $(tail -n 3 "$scratch/out")"
}

# child COMPILER...: a program that cannot use the library runs as if it were not there.
child() {
  "$@" -O2 -o "$scratch/child" "$source" >"$scratch/out" 2>&1 || skip "it does not compile here: $* : $(tail -n 1 "$scratch/out")"
  without "$scratch/child" 1000
  "$wrapper" sh -c '"$1" 1000 2>"$2"' sh "$scratch/child" "$scratch/err" >"$scratch/out" ||
    complain "as a child: status $?, $(cat "$scratch/err")"
  expect 'as a child: output' 'clock_gettime' "$(cut -f 1 "$scratch/out")"
}

case $companion in
  faketime) with_faketime ;;
  fakeroot) with_fakeroot ;;
  stdbuf) with_stdbuf ;;
  heaptrack) with_heaptrack ;;
  gdb) with_gdb ;;
  strace) with_strace ;;
  perf) with_perf ;;
  emulated_cpu) with_emulated_cpu ;;
  bubblewrap) with_bubblewrap ;;
  musl) need musl-gcc musl-tools && child musl-gcc ;;
  static) child cc -static ;;
  width_32) child cc -m32 ;;
  *) complain "unknown companion: $companion" ;;
esac
finish
