#!/bin/sh
# From a fresh checkout to a figure: installs what a build needs, builds, asks the doctor, and runs unmodified programs with and
# without vvarclock, side by side.
#
# Does not promise stable figures: it is a look, with medians of interleaved runs.
set -eu
cd -- "$(dirname -- "$0")/.."
. scripts/lib/packages.sh
. scripts/lib/build.sh

rounds=7

if [ $# -gt 0 ]; then
    echo "Usage: scripts/try.sh   (builds into build/ and shows what vvarclock does on this machine)"
    [ "$1" = --help ] && exit 0
    exit 2
fi

want_build
install_wanted
# shellcheck disable=SC2119 # no settings but the usual ones
set_up_build
ninja -C build preload/libvvarclock.so doctor/vvarclock-doctor

echo
echo '== scripts/vvarclock --doctor'
status=0
scripts/vvarclock --doctor || status=$?
[ "$status" -lt 125 ] || exit "$status"

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM
cc -O2 -o "$work/clock_cost" scripts/lib/clock_cost.c

python_cost='import statistics, time, timeit
for name in ("monotonic_ns", "time"):
    took = statistics.median(timeit.repeat(getattr(time, name), number=1000, repeat=101))
    print("python3 time.%s\t%.2f" % (name, took * 1e6))'

# Appends "way<tab>name<tab>ns" for both programs. Usage: measure WAY [WRAPPER...]
measure() {
    way=$1
    shift
    "$@" "$work/clock_cost" >"$work/lines"
    "$@" python3 -c "$python_cost" >>"$work/lines"
    sed "s/^/$way	/" "$work/lines" >>"$work/all"
}

echo
echo "== The same programs, unmodified: without vvarclock and under it, ns per call (medians of $rounds interleaved runs)"
echo 'The C program is scripts/lib/clock_cost.c, built by plain cc. The interpreter of python3 has its own cost in its lines.'
round=0
while [ "$round" -lt "$rounds" ]; do
    measure without env
    measure ordered scripts/vvarclock --order ordered
    measure unordered scripts/vvarclock --order unordered
    round=$((round + 1))
done

sort -t '	' -k1,1 -k2,2 -k3,3n "$work/all" | awk -F '\t' -v middle=$(((rounds + 1) / 2)) '
    { key = $1 "\t" $2; if (++seen[key] == middle) median[key] = $3; names[$2] = 1 }
    function beside(way, name) {
        return sprintf("%8.1f (%4.2f times as fast)", median[way "\t" name], median["without\t" name] / median[way "\t" name])
    }
    END {
        printf "%-32s %8s  %-31s %-31s\n", "", "without", "  ordered (the default)", "  unordered"
        for (name in names)
            printf "%-32s %8.1f %s %s\n", name, median["without\t" name], beside("ordered", name),
                beside("unordered", name) | "sort"
    }'
