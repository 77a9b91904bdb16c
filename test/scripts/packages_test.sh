#!/bin/sh
# Guards against: a set-up that installs what is there, installs unasked where it must not, or goes on without what it needs. The
# commands that it calls are replaced by ones that write down how they were called.
# shellcheck disable=SC2016 # what is in single quotes is for another shell
set -u
top=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM
points=0
failed=0

# equal NAME WANTED GOT
equal() {
    points=$((points + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $points - $1"
    else
        failed=1
        echo "not ok $points - $1"
        printf 'wanted: %s\ngot:    %s\n' "$2" "$3" | sed 's/^/# /'
    fi
}

# command_in NAME BODY: a program in the small PATH of the runs below.
command_in() {
    printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

fresh() {
    rm -rf -- "${work:?}/bin"
    mkdir "$work/bin"
    : >"$work/calls"
    ln -s "$(command -v env)" "$(command -v sh)" "$work/bin/"
    command_in apt-get "echo \"apt-get \$*\" >>'$work/calls'"
    command_in id 'echo 0'
    command_in here :
}

# run_install COMMAND PACKAGE...: sources the helper with the small PATH, wants each pair, then calls install_wanted; sets status and out.
run_install() {
    status=0
    out=$(PATH=$work/bin "$work/bin/sh" -u -c '. "$0"
        while [ $# -gt 0 ]; do want "$1" "$2"; shift 2; done
        install_wanted' "$top/scripts/lib/packages.sh" "$@" 2>&1 </dev/null) || status=$?
    calls=$(cat "$work/calls")
}

fresh
run_install here here-package
equal 'nothing is missing: nothing is said and done' '0  ' "$status $out $calls"

fresh
run_install here here-package gone-1 package-1 gone-2 package-2
equal 'as root: what is missing is installed, and only that' '0 apt-get -q update
apt-get install -y --no-install-recommends package-1 package-2' "$status $calls"
case $out in
    'Missing packages: package-1 package-2'*'Installing them: apt-get install -y --no-install-recommends package-1 package-2'*) said=yes ;;
    *) said=$out ;;
esac
equal 'as root: it says what' yes "$said"

fresh
command_in apt-get "echo \"apt-get \$*\" >>'$work/calls'; [ \"\$2\" != update ]"
run_install gone package
equal 'old lists do when new ones cannot be had' '0 apt-get -q update
apt-get install -y --no-install-recommends package' "$status $calls"

fresh
command_in apt-get "[ \"\$1\" != install ]"
run_install gone package
equal 'a failed installation stops it' '1 Installing failed: apt-get install -y --no-install-recommends package' \
    "$status $(printf '%s\n' "$out" | tail -n 1)"

fresh
command_in id 'echo 1000'
command_in sudo "[ \"\$1\" = -n ] && shift; [ \"\$1\" = true ] && exit 0; echo \"sudo \$*\" >>'$work/calls'; \"\$@\""
run_install gone package
equal 'not root: through sudo' '0 sudo apt-get -q update
apt-get -q update
sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends package
apt-get install -y --no-install-recommends package' "$status $calls"

advice='    apt-get update && apt-get install -y --no-install-recommends package'
command_in sudo 'exit 1'
: >"$work/calls"
run_install gone package
equal 'sudo refuses: the command is printed, nothing is done' "1 $advice " "$status $(printf '%s\n' "$out" | tail -n 1) $calls"

rm "$work/bin/sudo"
run_install gone package
equal 'no sudo: the command is printed, nothing is done' "1 $advice " "$status $(printf '%s\n' "$out" | tail -n 1) $calls"

fresh
rm "$work/bin/apt-get"
run_install gone package
equal 'no apt-get: it names the packages and stops' '1 Missing packages: package' "$status $(printf '%s\n' "$out" | head -n 1)"

echo "1..$points"
exit "$failed"
