#!/bin/sh
# Guards against: a process that has less around it than usual, or more, and then does not start or does not know the time.
#
# valgrind and user-mode emulation (no vDSO, or one of their own), a root folder without /proc, programs built with the
# address, thread and undefined behaviour sanitizers, other allocators before and after the library.
# Usage: surroundings_test.sh SURROUNDINGS LIBRARY PROGRAM [ARGUMENT...]
set -u
# shellcheck source=test/preload/process_support.sh
. "${0%/*}/process_support.sh"
surroundings=$1
library=$2
program=$3

# loaded_library PATTERN: the path under which the loader knows a library.
loaded_library() { /sbin/ldconfig -p 2>/dev/null | sed -n "s,.*$1.*x86-64.* => \\(/.*\\),\\1,p" | head -n 1; }

in_valgrind() {
  command -v valgrind >/dev/null || skip 'valgrind is not installed (Debian: valgrind)'
  LD_PRELOAD=$library valgrind --quiet --error-exitcode=9 "$program" 500 || complain "under valgrind: status $?"
}

in_user_emulation() {
  emulator=$(command -v qemu-x86_64 || command -v qemu-x86_64-static) ||
    skip 'qemu-x86_64 is not installed (Debian: qemu-user)'
  "$emulator" -cpu max -E VVARCLOCK_TEST_LIBRARY=libc.so.6 "$program" 500 >/dev/null ||
    skip 'the program fails under qemu-x86_64 without the library too'
  "$emulator" -cpu max -E LD_PRELOAD="$library" "$program" 500 || complain "under qemu-x86_64: status $?"
}

# A root folder with the program, what it is linked to, and nothing else: no /proc, no /dev, no /sys.
in_bare_root() {
  [ "$(id -u)" -eq 0 ] || skip 'chroot needs root'
  make_scratch root
  root=$scratch
  cp "$program" "$root/program"
  cp "$library" "$root/libvvarclock.so"
  for needed in $(ldd "$program" "$library" | grep -o '/[^ :]*\.so[^ :]*' | grep -v "^$library" | sort -u); do
    mkdir -p "$root${needed%/*}"
    cp "$needed" "$root$needed"
  done
  loader=$(ldd "$program" | grep -o '/[^ ]*ld-linux[^ ]*')
  chroot "$root" "$loader" --preload /libvvarclock.so /program "$@" || complain "in a root without /proc: status $?"
}

# A program that a sanitizer's runtime does not let start at all says nothing about us.
in_sanitizer() {
  VVARCLOCK_TEST_LIBRARY=libc.so.6 "$program" 2000 >/dev/null 2>&1 || skip "${program##*/} does not start here without the library either"
  LD_PRELOAD=$library "$program" 2000 || complain "${program##*/}: status $?"
}

beside_allocators() {
  found=0
  for name in libjemalloc.so libtcmalloc_minimal.so libtcmalloc.so libmimalloc.so; do
    allocator=$(loaded_library "$name")
    [ -n "$allocator" ] || continue
    found=$((found + 1))
    for preload in "$library:$allocator" "$allocator:$library"; do
      LD_PRELOAD=$preload "$program" 50 || complain "LD_PRELOAD=$preload: status $?"
    done
    echo "$allocator: before and after"
  done
  [ "$found" -gt 0 ] || skip 'no other allocator is installed (Debian: libjemalloc2, libtcmalloc-minimal4, libmimalloc2.0)'
}

case $surroundings in
  valgrind) in_valgrind ;;
  user_emulation) in_user_emulation ;;
  bare_root) shift 3 && in_bare_root "$@" ;;
  sanitizer) in_sanitizer ;;
  allocators) beside_allocators ;;
  *) complain "unknown surroundings: $surroundings" ;;
esac
finish
