#!/bin/sh
# Guards against: a library that loses what a distribution hardens its programs with, because we link it our own way.
#
# Builds the library anew with such flags: with libelf beside it, where every object is ours, and inside it. Indirect-branch
# tracking and shadow stacks are a promise of all objects together, so with libelf inside it is kept exactly if the archive
# makes it. Usage: hardening_test.sh TOP BRACKETS_PROGRAM
set -u
# shellcheck source=test/preload/process_support.sh
. "${0%/*}/process_support.sh"
top=$1
program=$2

[ "${VVARCLOCK_TEST_FULL:-}" = 1 ] || skip 'it builds the library anew; VVARCLOCK_TEST_FULL=1 asks for that'
for tool in readelf objdump meson ninja; do
  command -v "$tool" >/dev/null || skip "$tool is not installed"
done
make_scratch hardening
flags='-fcf-protection=full -fstack-protector-strong -fstack-clash-protection -D_FORTIFY_SOURCE=2'
build=$scratch/build
library=$build/preload/libvvarclock.so

# build_with LIBELF: sets the library up with libelf shared or static, and builds it. Status: 1 when that cannot be had here.
build_with() {
  if [ -e "$build/build.ninja" ]; then
    meson configure "$build" -Dlibelf="$1" >"$scratch/log" 2>&1 || return 1
  else
    CXXFLAGS=$flags CXX=${CXX:-c++} meson setup "$build" "$top" -Doptimization=1 -Dtests=disabled -Dlibelf="$1" \
      >"$scratch/log" 2>&1 || return 1
  fi
  ninja -C "$build" preload/libvvarclock.so >"$scratch/log" 2>&1
}

features() { LC_ALL=C readelf --notes --wide "$1" 2>/dev/null | grep -c 'x86 feature: IBT, SHSTK'; }

# expect_hardened NAME LIBELF FEATURES
expect_hardened() {
  expect "$1: promises of indirect-branch tracking and shadow stacks" "$3" "$(features "$library")"
  for function in clock_gettime gettimeofday time clock_getres timespec_get; do
    expect "$1: $function begins with a landing mark" 1 \
      "$(objdump --disassemble="$function" "$library" | grep -A 1 "<$function>:" | grep -c endbr64)"
  done
  expect "$1: stack protector, from libc" 1 \
    "$(LC_ALL=C readelf --dyn-syms --wide "$library" | grep -c 'UND __stack_chk_fail@GLIBC_2\.4')"
  "${0%/*}/library_test.sh" "$library" "$2" >"$scratch/out" 2>&1 || complain "$1: $(grep FAIL "$scratch/out")"
  LD_PRELOAD=$library "$program" 2000 >"$scratch/out" 2>&1 || complain "$1: $(cat "$scratch/out")"
}

build_with shared || {
  complain "libelf shared: $(tail -n 5 "$scratch/log")"
  exit 1
}
# Our own objects have a protected function: the shared libelf brings none.
expect_hardened 'libelf shared' shared 1

archive=$(${CC:-cc} -print-file-name=libelf.a)
if [ ! -e "$archive" ] || ! build_with static; then
  echo "libelf static: not to be had here: $(tail -n 1 "$scratch/log")"
else
  members=$(ar t "$archive" | wc -l)
  promised=$(features "$archive")
  expect_hardened 'libelf static' static "$([ "$promised" -eq "$members" ] && echo 1 || echo 0)"
fi

finish
