#!/bin/sh
# Guards against: a tree of 64- and 32-bit programs in which the loader complains of the other's library, or loads none; a wrapper
# that fails where the loader knows another name for its library folder.
#
# A fourth argument: the folder that holds the 64-bit library, i386 and by-lib; a fifth: how 32-bit programs are run.
# shellcheck disable=SC2016 # $LIB is for the loader
set -u
. "$1/test/preload/wrapper_support.sh"
built=$4
run_32=$5

tree=$work/tree
cp -R -- "$built/by-lib" "$tree/build/preload/"
mkdir "$tree/build/preload/i386"
cp -- "$built/i386/libvvarclock.so" "$tree/build/preload/i386/"
ours=$tree/build/preload/libvvarclock.so
ours_32=$tree/build/preload/i386/libvvarclock.so
in_one_word=$tree/build/preload/by-lib/'$LIB'/libvvarclock.so

cat >"$work/who.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    char path[PATH_MAX];
    Dl_info info;
    void* const time = dlsym(RTLD_DEFAULT, "clock_gettime");
    if (dladdr(time, &info) == 0 || realpath(info.dli_fname, path) == NULL) return 1;
    return puts(path) < 0;
}
END
${CC:-cc} -o "$work/who" "$work/who.c" || skip_all 'no C compiler'
${CC:-cc} -m32 -idirafter /usr/include/x86_64-linux-gnu -o "$work/who_32" "$work/who.c" || skip_all 'the C compiler does no -m32'
real=$(cd -P -- "$tree" && pwd -P)

# answers PATH PROGRAM...: the library that answers the program, and nothing else said.
answers() {
    answers_name=$1
    answers_wanted=$2
    shift 2
    try "$@"
    equal "$answers_name" "status 0, $answers_wanted, said ''" "status $status, $out, said '$err'"
}

equal 'both libraries in one word' "$in_one_word" "$(vvarclock printenv LD_PRELOAD)"
has 'LD_LIBRARY_PATH is not set without need' "$(vvarclock sh -c 'echo "[${LD_LIBRARY_PATH-unset}]"')" '[unset]'
answers 'a 64-bit program has its library' "$real/build/preload/libvvarclock.so" dash "$tree/scripts/vvarclock" "$work/who"
answers 'its 32-bit child has the other one' "$real/build/preload/i386/libvvarclock.so" \
    dash "$tree/scripts/vvarclock" "$run_32" "$work/who_32"
equal 'one vvarclock inside another adds nothing' "$in_one_word" \
    "$(vvarclock dash "$tree/scripts/vvarclock" printenv LD_PRELOAD)"

# What the README says that a user sees where one of the two is missing.
rm -- "$ours_32"
try dash "$tree/scripts/vvarclock" "$run_32" "$work/who_32"
has 'without the 32-bit library its programs run' "$out" libc.so.6
has 'and their loader says why' "$err" 'cannot be preloaded'
cp -- "$built/i386/libvvarclock.so" "$ours_32"
LD_PRELOAD=$ours try "$run_32" "$work/who_32"
has 'a library of the other width is named by the loader' "$err" 'wrong ELF class: ELFCLASS64): ignored'

# A loader whose library folder has a name that we do not know.
find "$tree/build/preload/by-lib" -type l -exec sh -c 'readlink "$1" | grep -q i386 || rm -- "$1"' sh {} \;
equal 'an unknown name of the folder: the 64-bit library alone' "$ours" "$(vvarclock printenv LD_PRELOAD)"
answers 'and it is loaded' "$real/build/preload/libvvarclock.so" dash "$tree/scripts/vvarclock" "$work/who"

# A path that LD_PRELOAD cannot hold.
spaced="$work/with some  spaces"
cp -R -- "$tree" "$spaced"
try dash "$spaced/scripts/vvarclock" printenv LD_PRELOAD LD_LIBRARY_PATH
equal 'spaces: a bare name, and both folders in LD_LIBRARY_PATH' "libvvarclock.so
$spaced/build/preload:$spaced/build/preload/i386" "$out"
real=$(cd -P -- "$spaced" && pwd -P)
answers 'spaces: a 64-bit program has its library' "$real/build/preload/libvvarclock.so" \
    dash "$spaced/scripts/vvarclock" "$work/who"
answers 'spaces: a 32-bit program has the other one' "$real/build/preload/i386/libvvarclock.so" \
    dash "$spaced/scripts/vvarclock" "$run_32" "$work/who_32"

finish
