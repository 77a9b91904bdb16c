#!/bin/sh
# Guards against: a check of the include rule that cannot fail. Each kind of breach is put into a small tree that obeys the rule,
# and must be found in the line it stands in.
set -u
top=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM
points=0
failed=0

point() {
    points=$((points + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $points - $1"
    else
        failed=1
        echo "not ok $points - $1"
        sed 's/^/# /' "$work/out"
    fi
}

# A tree with one file in each room, all that they may include included.
fresh_tree() {
    rm -rf -- "$work/tree"
    mkdir -p "$work/tree/arch/x86" "$work/tree/core/vvar" "$work/tree/core/discover" "$work/tree/core/serve" \
        "$work/tree/preload" "$work/tree/doctor" "$work/tree/bench"
    cd -- "$work/tree" || exit 1
    printf '#include <cpuid.h>\n#include <array>\n' >arch/x86/cpu.h
    printf '#include <sys/syscall.h>\n#include <sys/time.h>\n#include <time.h>\n' >arch/x86/raw_syscall.h
    printf '#include <cstdint>\n#include "arch/x86/cpu.h"\n' >arch/counter.h
    printf '#include <time.h>\n#include "arch/counter.h"\n' >core/vvar/page.h
    printf '#include "core/vvar/page.h"\n#include "arch/counter.h"\n#include <unistd.h>\n' >core/discover/find.h
    printf '#include <libelf.h>\n#include <gelf.h>\n#include <elf.h>\n#include "core/discover/find.h"\n' >core/discover/vdso_image.cc
    printf '#include <libelf.h>\n' >core/discover/vdso_image_libelf.cc
    printf '#include <elf.h>\n' >core/discover/vdso_image_header.cc
    printf '#include "core/discover/find.h"\n  #  include "core/vvar/page.h"\n' >core/serve/table.h
    printf '#include "core/serve/table.h"\n#include "arch/counter.h"\n' >preload/exports.cc
    printf '#include "core/discover/find.h"\n#include <vector>\n' >doctor/main.cc
    printf '#include "core/serve/table.h"\n#include "doctor/main.cc"\n' >bench/main.cc
}

check() {
    "$top/scripts/check-includes" "$work/tree" >"$work/out" 2>&1
}

# breach NAME FILE LINE...: the lines are added to the file, each is reported, and nothing else is.
breach() {
    name=$1
    file=$2
    shift 2
    fresh_tree
    before=$(($(wc -l <"$file" 2>/dev/null || echo 0)))
    printf '%s\n' "$@" >>"$file"
    check
    status=$?
    wanted=$(seq "$((before + 1))" "$((before + $#))" | sed "s|.*|$file:&:|")
    got=$(sed 's/^\([^:]*:[0-9]*:\).*/\1/' "$work/out")
    [ "$status" -eq 1 ] && [ "$wanted" = "$got" ]
    point "$name" $?
}

fresh_tree
check
point 'a tree that obeys the rule passes' $?

breach 'arch includes core' arch/counter.h '#include "core/vvar/page.h"'
breach 'arch includes preload and doctor' arch/counter.h '#include "preload/exports.cc"' '#include "doctor/main.cc"'
breach 'arch includes OS headers' arch/counter.h '#include <unistd.h>' '#include <sys/mman.h>' '#include <cstdio>' '#include <stdlib.h>'
breach 'cpuid.h outside cpu.h' arch/counter.h '#include <cpuid.h>'
breach 'system call headers outside raw_syscall.h' arch/x86/cpu.h '#include <sys/syscall.h>' '#include <sys/time.h>' '#include <time.h>'
breach 'raw_syscall.h includes more' arch/x86/raw_syscall.h '#include <unistd.h>'
breach 'vvar includes discover and serve' core/vvar/page.h '#include "core/discover/find.h"' '#include "core/serve/table.h"'
breach 'vvar includes OS headers' core/vvar/page.h '#include <sys/auxv.h>' '#include <sys/syscall.h>'
breach 'discover includes serve' core/discover/find.h '#include "core/serve/table.h"'
breach 'discover includes preload' core/discover/find.h '#include "preload/exports.cc"'
breach 'serve includes preload and doctor' core/serve/table.h '#include "preload/exports.cc"' '#include "doctor/main.cc"'
breach 'preload includes doctor' preload/exports.cc '#include "doctor/main.cc"'
breach 'doctor includes preload' doctor/main.cc '#include "preload/exports.cc"'
breach 'doctor includes bench' doctor/main.cc '#include "bench/main.cc"'
breach 'bench includes preload' bench/main.cc '#include "preload/exports.cc"'
breach 'libelf beside its file' core/discover/find.h '#include <libelf.h>' '#include <gelf.h>' '#include <elf.h>' \
    '#include <elfutils/libdw.h>'
breach 'libelf where elf.h is allowed' core/discover/vdso_image_header.cc '#include <gelf.h>'
breach 'libelf in other floors' doctor/main.cc '#include <libelf.h>' '#include <linux/elf.h>'
breach 'elf.h in arch' arch/counter.h '#include <elf.h>'
breach 'a relative include' core/vvar/page.h '#include "../serve/table.h"' '#include "./page.h"'
breach 'an include beside the file' core/vvar/page.h '#include "page.h"'
breach 'an include from outside the house' core/serve/table.h '#include "test/support/catch.h"' '#include "core/other/x.h"'
breach 'an include that does not exist' core/serve/table.h '#include "core/serve/gone.h"'
breach 'an include named by a macro' core/serve/table.h '#include HEADER'
breach 'odd spacing and include_next' arch/counter.h '  #	 include	"core/vvar/page.h"' '#include<unistd.h>' '#include_next <unistd.h>'
fresh_tree
echo '// nothing' >core/stray.h
check
[ $? -eq 1 ] && grep -q '^core/stray.h:1: ' "$work/out"
point 'a file in no room' $?

fresh_tree
find . -type f -exec rm {} +
check
[ $? -eq 2 ]
point 'a tree without sources does not pass' $?

echo "1..$points"
exit "$failed"
