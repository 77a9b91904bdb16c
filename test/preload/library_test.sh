#!/bin/sh
# Guards against: a library that a host process cannot take in: further needs, further names, thread-local storage, writable
# code, a C library newer than the agreed floor.
#
# Reads the built file. Usage: library_test.sh LIBRARY LIBELF, LIBELF being "static" or "shared". The library
# may be of either width.
set -u
# shellcheck source=test/preload/process_support.sh
. "${0%/*}/process_support.sh"
library=$1
libelf=$2

command -v readelf >/dev/null || skip 'readelf is not installed (Debian: binutils)'

exported() {
  LC_ALL=C readelf --dyn-syms --wide "$library" |
    awk '$7 ~ /^[0-9]+$/ && ($5 == "GLOBAL" || $5 == "WEAK" || $5 == "UNIQUE") { print $8 }' | sort
}
names='clock_getres clock_gettime gettimeofday time timespec_get'
if LC_ALL=C readelf --file-header "$library" | grep -q 'Class: *ELF32'; then
  # Those of programs with 64-bit seconds.
  names="__clock_getres64 __clock_gettime64 __gettimeofday64 __time64 __timespec_get64 $names"
fi
# shellcheck disable=SC2086 # one line each
expect 'exported names' "$(printf '%s\n' $names)" "$(exported | LC_ALL=C sort)"
expect 'exported versions' '' "$(exported | grep @)"
expect 'indirect functions' '' "$(LC_ALL=C readelf --syms --wide "$library" | awk '$4 == "IFUNC" { print $8 }')"
expect 'relocations of indirect functions' '' "$(LC_ALL=C readelf --relocs --wide "$library" | grep -o IRELATIV | sort -u)"

needed=$(LC_ALL=C readelf --dynamic --wide "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if [ "$libelf" = static ]; then
  expect 'needed libraries' 'libc.so.6' "$needed"
  # libelf's are answered from the stack: core/discover/vdso_image_memory.h.
  expect 'heap' '' "$(LC_ALL=C readelf --dyn-syms --wide "$library" |
    grep -oE ' (malloc|calloc|realloc|reallocarray|free|aligned_alloc|memalign|posix_memalign|strdup|strndup|asprintf)@.*')"
else
  echo 'needed libraries beyond libc are wanted here: libelf is shared'
  expect 'libc among the needed' 'libc.so.6' "$(printf '%s\n' "$needed" | grep -x 'libc\.so\.6')"
fi
expect 'run-time libstdc++ or libgcc' '' "$(printf '%s\n' "$needed" | grep -E 'libstdc|libgcc')"
expect 'text relocations' '' "$(LC_ALL=C readelf --dynamic --wide "$library" | grep TEXTREL)"
expect 'bound at load' yes \
  "$(LC_ALL=C readelf --dynamic --wide "$library" | grep -Eq 'BIND_NOW|FLAGS_1.*NOW' && echo yes)"
expect 'search paths' '' "$(LC_ALL=C readelf --dynamic --wide "$library" | grep -E 'RPATH|RUNPATH')"

segments=$(LC_ALL=C readelf --program-headers --wide "$library")
expect 'thread-local storage' '' "$(printf '%s\n' "$segments" | awk '$1 == "TLS"')"
expect 'stack' 'RW' "$(printf '%s\n' "$segments" | awk '$1 == "GNU_STACK" { print $7 }')"
expect 'read-only after relocation' 'GNU_RELRO' "$(printf '%s\n' "$segments" | awk '$1 == "GNU_RELRO" { print $1 }')"
# Full: with everything bound at load, what the loader writes and nobody else lies within the closed part.
closed_sections=$(LC_ALL=C readelf --program-headers --wide "$library" | awk '/Section to Segment/ { map = 1 }
  $1 == "GNU_RELRO" { index_of_relro = entries } $1 ~ /^[A-Z_]+$/ && $2 ~ /^0x/ { ++entries }
  map && $1 + 0 == index_of_relro && $1 ~ /^[0-9]+$/ { $1 = ""; print }')
for section in .init_array .data.rel.ro .dynamic .got; do
  case " $closed_sections " in
    *" $section "*) ;;
    *) complain "$section stays writable: closed are only $closed_sections" ;;
  esac
done
expect 'lazily bound calls' '' "$(LC_ALL=C readelf --sections --wide "$library" | grep -o '\.got\.plt')"
# `environ` is looked through for names alone.
expect 'environment, other than by secure_getenv' '' \
  "$(LC_ALL=C readelf --dyn-syms --wide "$library" | grep -oE ' (getenv|setenv|putenv|unsetenv)@.*')"
expect 'environment by secure_getenv' yes \
  "$(LC_ALL=C readelf --dyn-syms --wide "$library" | grep -q ' secure_getenv@' && echo yes)"
expect 'segments writable and executable' '' "$(printf '%s\n' "$segments" | awk '$1 == "LOAD"' | grep RWE)"

highest=$(LC_ALL=C readelf --version-info --wide "$library" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' |
  sort -u -t . -k 1,1n -k 2,2n -k 3,3n | tail -n 1)
lowest_of_both=$(printf '%s\n2.17\n' "$highest" | sort -t . -k 1,1n -k 2,2n -k 3,3n | head -n 1)
expect "highest libc version ($highest) at most 2.17" "$highest" "$lowest_of_both"
expect 'private libc versions' '' "$(LC_ALL=C readelf --version-info --wide "$library" | grep -o 'GLIBC_PRIVATE' | sort -u)"

finish
