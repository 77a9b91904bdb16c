#!/bin/sh
# Guards against: a wrapper that a program can notice. Arguments, exit status, signals, descriptors, environment and process
# are those of the program started without it.
# shellcheck disable=SC2016,SC1003 # what is in single quotes is for other shells
set -u
. "$1/test/preload/wrapper_support.sh"

# Arguments.

set -- '' ' ' '*' '?' 'a  b' '	' '
' 'line
' '-n' '--' '--order' '--help' "'" '"' '\' '\n' '$HOME' '`id`' '$(id)' '~' '{a,b}' '!' '#' ';' '&' \
    "$(printf '\377\376\200\201\202\210\001\033')" 'ünïcode' '%s%n' '='
env printf '%s\0' "$@" >"$work/wanted"
vvarclock printf '%s\0' "$@" >"$work/got"
same_files 'arguments are equal byte by byte' "$work/wanted" "$work/got"

# shellcheck disable=SC2046 # many words are wanted
equal 'thousands of arguments arrive' 20000 "$(vvarclock sh -c 'echo $#' sh $(seq 20000))"
equal "an option after the command is the command's" '--help' "$(vvarclock printf %s --help)"
equal 'a -- after the command is an argument' '--' "$(vvarclock printf %s --)"

mkdir "$work/bin"
printf '#!/bin/sh\necho "ran as $0"\n' >"$work/bin/a=b"
chmod +x "$work/bin/a=b"
cp "$work/bin/a=b" "$work/bin/-dash"
cp "$work/bin/a=b" "$work/bin/with space"
equal 'a command with = in its name' "ran as $work/bin/a=b" "$(vvarclock "$work/bin/a=b")"
equal 'a command with a space in its name' "ran as $work/bin/with space" "$(PATH=$work/bin:$PATH vvarclock 'with space')"
equal 'a command that begins with -' "ran as $work/bin/-dash" "$(PATH=$work/bin:$PATH vvarclock -- -dash)"
printf 'echo "no first line: $1"\n' >"$work/bin/plain"
chmod +x "$work/bin/plain"
equal 'a script without a first line' 'no first line: x' "$(vvarclock "$work/bin/plain" x)"

# Exit status and signals.

wrong=
code=0
while [ "$code" -le 255 ]; do
    status=0
    vvarclock sh -c "exit $code" || status=$?
    [ "$status" -eq "$code" ] || wrong="$wrong $code->$status"
    code=$((code + 1))
done
equal 'every exit status from 0 to 255 is the program'"'"'s' '' "$wrong"

# A shell cannot tell death by a signal from exit 128 + n; python3 can, and prints the signal as a negative number.
# Whoever started the tests may have signals ignored (a runner in the background has); the program must not.
how_it_ended='import resource, signal, subprocess, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, signal.SIG_DFL)
print(subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode)'
# The interpreter itself: what PATH has may be a script that looks for it, which takes its time.
python=$(python3 -c 'import sys; print(sys.executable)')
for signal in HUP:1 INT:2 QUIT:3 ILL:4 ABRT:6 KILL:9 USR1:10 SEGV:11 PIPE:13 TERM:15; do
    equal "death by SIG${signal%:*} stays that" "-${signal#*:}" \
        "$("$python" -c "$how_it_ended" dash "$work/tree/scripts/vvarclock" sh -c "kill -${signal%:*} \$\$")"
done

dash "$work/tree/scripts/vvarclock" sh -c 'echo $$' >"$work/pid" &
started=$!
wait "$started"
equal 'the program is the process that was started' "$started" "$(cat "$work/pid")"

try vvarclock "$work/bin/nosuch"
equal '127: a path that does not exist' 127 "$status"
try vvarclock vvarclock-test-no-such-command
equal '127: a name that is not in PATH' 127 "$status"
has '127 names the command' "$err" vvarclock-test-no-such-command
try vvarclock ''
equal '127: the empty word' 127 "$status"
try vvarclock -
equal '127: a lone - is a command' 127 "$status"
echo text >"$work/bin/text"
try vvarclock "$work/bin/text"
equal '126: a file that is not executable' 126 "$status"
try vvarclock "$work/bin"
equal '126: a folder' 126 "$status"

# Descriptors, signals' dispositions, folder, environment.

equal 'standard input is the program'"'"'s' 'from stdin' "$(echo 'from stdin' | vvarclock cat)"
try vvarclock sh -c 'echo to stdout; echo to stderr >&2'
equal 'standard output holds what the program wrote' 'to stdout' "$out"
equal 'standard error holds what the program wrote' 'to stderr' "$err"

list_open='ls /proc/self/fd'
$list_open 5</dev/null 7>/dev/null 9<&0 >"$work/wanted"
# shellcheck disable=SC2086
vvarclock $list_open 5</dev/null 7>/dev/null 9<&0 >"$work/got"
same_files 'open descriptors are the same' "$work/wanted" "$work/got"
$list_open 0<&- 2>&- >"$work/wanted"
# shellcheck disable=SC2086
vvarclock $list_open 0<&- 2>&- >"$work/got"
same_files 'closed descriptors stay closed' "$work/wanted" "$work/got"

show_signals='grep -E ^Sig(Blk|Ign|Cgt) /proc/self/status'
# shellcheck disable=SC2086
wanted=$(trap '' INT PIPE USR2; $show_signals)
# shellcheck disable=SC2086
got=$(trap '' INT PIPE USR2; vvarclock $show_signals)
equal 'ignored signals stay ignored, others default' "$wanted" "$got"

equal 'the working folder is the same' "$(cd / && pwd -P)" "$(cd / && vvarclock pwd -P)"
equal 'the mask for new files is the same' 0037 "$(umask 037; vvarclock sh -c umask)"

# Names that a careless script would use, a value with every kind of byte, and PWD, which /bin/sh sets when it is missing.
odd=$(printf 'a\nb\t\377\001 =')
set -- PATH="$PATH" PWD="$PWD" odd="$odd" empty='' version=1 library=2 doctor=3 status=4 order=5 report=6 top=7 name=8 path=9 \
    said=10 self=11 hint=12 action=13 json=14 LD_DEBUG_OUTPUT=15 VVARCLOCK_SOURCE=syscall
env -i "$@" env -0 | sort -z >"$work/wanted"
env -i "$@" dash "$work/tree/scripts/vvarclock" env -0 | sort -z | grep -azv '^LD_PRELOAD=' >"$work/got"
same_files 'the environment gains LD_PRELOAD and nothing else' "$work/wanted" "$work/got"

# The script's own helpers: a library that notes who loads it.
compile "$work/noting.so" <<'END'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void note(void) {
  FILE* to = fopen(getenv("NOTES"), "a");
  FILE* from = fopen("/proc/self/comm", "r");
  char name[64] = "";
  const char* on = getenv("VVARCLOCK");
  if (to && from && fgets(name, sizeof name, from))
    fprintf(to, "%s %s %s\n", on ? on : "-", getenv("VVARCLOCK_REPORT") ? "report" : "quiet", name);
}
END
make_tree "$work/noting" "$work/noting.so"
NOTES=$work/notes VVARCLOCK_REPORT=1 dash "$work/noting/scripts/vvarclock" --order=ordered --report=json sleep 0
equal 'only the trial, switched off and without a report, and the program load the library' 'off quiet env
- report sleep' "$(grep -v '^$' "$work/notes")"

# Other shells that may be /bin/sh.
for shell in 'bash --posix' 'busybox sh' 'ksh' 'yash'; do
    if ! command -v "${shell%% *}" >/dev/null 2>&1; then
        skip "the wrapper under $shell" "${shell%% *} is not installed"
        continue
    fi
    # shellcheck disable=SC2086
    equal "the wrapper under $shell" 'a b||*' "$(PATH=$work/bin:$PATH $shell "$work/tree/scripts/vvarclock" --order lfence \
        printf '%s|%s|%s' 'a b' '' '*')"
    # shellcheck disable=SC2086
    equal "a command that begins with - under $shell" "ran as $work/bin/-dash" \
        "$(PATH=$work/bin:$PATH $shell "$work/tree/scripts/vvarclock" -- -dash)"
done

finish
