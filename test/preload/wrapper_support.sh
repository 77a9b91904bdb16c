# Sourced by the wrapper's tests: points in TAP, and a copied tree, so that the wrapper under test finds the library that the
# test means without any door of its own for tests. POSIX sh.
#
# Every test is called with: TOP (the source tree) LIBRARY (the built libvvarclock.so) INSTALLED (the wrapper as meson
# configured it for installing).
# shellcheck shell=sh

tap_points=0
tap_failed=0

# point NAME STATUS: one line of TAP.
point() {
    tap_points=$((tap_points + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $tap_points - $1"
    else
        tap_failed=1
        echo "not ok $tap_points - $1"
    fi
}

# equal NAME WANTED GOT
equal() {
    if [ "$2" = "$3" ]; then
        point "$1" 0
    else
        point "$1" 1
        printf 'wanted: %s\ngot:    %s\n' "$2" "$3" | sed 's/^/# /'
    fi
}

# same_files NAME WANTED GOT
same_files() {
    if cmp -s -- "$2" "$3"; then
        point "$1" 0
    else
        point "$1" 1
        diff -a -- "$2" "$3" | head -n 20 | sed 's/^/# /'
    fi
}

# has NAME TEXT PART: the text contains the part.
has() {
    case $2 in
        *"$3"*) point "$1" 0 ;;
        *)
            point "$1" 1
            printf 'wanted in it: %s\ngot: %s\n' "$3" "$2" | sed 's/^/# /'
            ;;
    esac
}

# skip NAME REASON
skip() {
    tap_points=$((tap_points + 1))
    echo "ok $tap_points - $1 # SKIP $2"
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

finish() {
    echo "1..$tap_points"
    exit "$tap_failed"
}

top=$1
library=$2
# shellcheck disable=SC2034 # for the tests
installed=$3
command -v dash >/dev/null 2>&1 || skip_all 'dash is not installed'

# What the tests are run with must not reach them.
unset LD_PRELOAD LD_LIBRARY_PATH VVARCLOCK VVARCLOCK_ORDER VVARCLOCK_SOURCE VVARCLOCK_RAW VVARCLOCK_REPORT

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM

# make_tree DIR [LIBRARY]: a tree with the wrapper and, when named, a library.
make_tree() {
    mkdir -p -- "$1/scripts" "$1/build/preload"
    cp -- "$top/scripts/vvarclock" "$1/scripts/"
    cp -- "$top/meson.build" "$1/"
    [ $# -lt 2 ] || cp -- "$2" "$1/build/preload/libvvarclock.so"
}

# compile OUT [OPTION...] <SOURCE: a shared object in C.
compile() {
    compile_out=$1
    shift
    ${CC:-cc} -shared -fPIC -x c -o "$compile_out" - -x none "$@"
}

make_tree "$work/tree" "$library"

# The wrapper as every test runs it.
vvarclock() {
    dash "$work/tree/scripts/vvarclock" "$@"
}

# try COMMAND...: sets status, out and err.
try() {
    status=0
    "$@" >"$work/out" 2>"$work/err" || status=$?
    # shellcheck disable=SC2034 # for the tests
    out=$(cat "$work/out")
    err=$(cat "$work/err")
}

# refused NAME PART COMMAND...: our own status, a message that contains the part, no output, and the program was not run.
# The command must end with the words: touch "$work/ran"
refused() {
    refused_name=$1
    refused_part=$2
    shift 2
    rm -f -- "$work/ran"
    try "$@"
    refused_ran=no
    [ ! -e "$work/ran" ] || refused_ran=yes
    case $err in
        *"$refused_part"*) refused_said=$refused_part ;;
        *) refused_said=$err ;;
    esac
    equal "$refused_name" "status 125, ran no, output '', said: $refused_part" \
        "status $status, ran $refused_ran, output '$out', said: $refused_said"
}
