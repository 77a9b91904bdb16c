#!/bin/sh
# Guards against: an option that is taken wrongly, or a mistake in one that goes unsaid; help that leaves something out.
# shellcheck disable=SC2016,SC2317 # what is in single quotes is for other shells; functions are called by name
set -u
. "$1/test/preload/wrapper_support.sh"

version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" "$top/meson.build")

# Words that print and end.

try vvarclock --version
equal '--version' "0 vvarclock $version " "$status $out $err"
try dash "$installed" --version
equal '--version of the installed wrapper' "0 vvarclock $version " "$status $out $err"
try vvarclock --help
equal '--help: status and no errors' '0 ' "$status $err"
help=$out
rm "$work/tree/build/preload/libvvarclock.so"
try vvarclock --help
equal '--help without a library' "0 $help" "$status $out"
try vvarclock --version
equal '--version without a library' "0 vvarclock $version" "$status $out"
cp "$library" "$work/tree/build/preload/libvvarclock.so"

variables=$(grep -oh '"VVARCLOCK[A-Z_]*"' "$top/core/serve/options.cc" | tr -d '"' | sort -u)
has 'the library has variables' "$variables" VVARCLOCK_ORDER
for variable in $variables; do
    has "--help names $variable" "$help" "  $variable "
done
manual=$(cat "$top/scripts/vvarclock.1.in")
for word in $(printf '%s\n' "$help" | grep -oE '^  --[a-z]+|VVARCLOCK[A-Z_]*' | sort -u); do
    has "the manual page names $word" "$manual" "$(printf '%s' "$word" | sed 's/-/\\-/g')"
done

# --order.

for order in ordered unordered lfence rdtscp; do
    equal "--order $order" "$order" "$(vvarclock --order "$order" printenv VVARCLOCK_ORDER)"
    equal "--order=$order" "$order" "$(vvarclock --order="$order" printenv VVARCLOCK_ORDER)"
done
equal '--order in capitals' unordered "$(vvarclock --order UnOrdered printenv VVARCLOCK_ORDER)"
equal '--order outdoes the variable' lfence "$(VVARCLOCK_ORDER=rdtscp vvarclock --order lfence printenv VVARCLOCK_ORDER)"
equal 'the last --order counts' lfence "$(vvarclock --order rdtscp --order lfence printenv VVARCLOCK_ORDER)"
equal 'the variable stays without --order' rdtscp "$(VVARCLOCK_ORDER=rdtscp vvarclock printenv VVARCLOCK_ORDER)"
equal 'no variable without --order' unset "$(vvarclock sh -c 'echo "${VVARCLOCK_ORDER-unset}"')"
refused '--order with a bad value' "not 'fast'" vvarclock --order fast touch "$work/ran"
refused '--order= with nothing' "not ''" vvarclock --order= touch "$work/ran"
refused '--order with two values' "not 'lfence rdtscp'" vvarclock --order 'lfence rdtscp' touch "$work/ran"
try vvarclock --order
equal '--order as the last word' '125 vvarclock: --order needs a value' "$status $(head -n 1 "$work/err")"

# --report.

equal '--report' 1 "$(vvarclock --report printenv VVARCLOCK_REPORT 2>/dev/null)"
equal '--report=json' json "$(vvarclock --report=json printenv VVARCLOCK_REPORT 2>/dev/null)"
equal '--report=PATH' "$work/a report" "$(vvarclock --report="$work/a report" printenv VVARCLOCK_REPORT)"
equal 'no variable without --report' unset "$(vvarclock sh -c 'echo "${VVARCLOCK_REPORT-unset}"')"
refused '--report= with nothing' '--report=' vvarclock --report= touch "$work/ran"

# Mistakes and the end of options.

refused 'an unknown long option' "unknown option '--fast'" vvarclock --fast touch "$work/ran"
refused 'an unknown short option' "unknown option '-x'" vvarclock -x touch "$work/ran"
refused 'an unknown option with a value' "unknown option '--orders=lfence'" vvarclock --orders=lfence touch "$work/ran"
has 'a mistake shows the usage' "$err" 'Usage: vvarclock'
try vvarclock
equal 'no command' '125 vvarclock: no command was given' "$status $(head -n 1 "$work/err")"
try vvarclock --order lfence --
equal 'no command after --' '125 vvarclock: no command was given' "$status $(head -n 1 "$work/err")"
equal '-- ends the options' "x" "$(vvarclock --order lfence -- printf x)"
equal 'an unwritable standard error does not change the status' 125 "$(vvarclock --fast 2>/dev/full; echo $?)"

# --doctor, with a doctor that shows how it was called.

try vvarclock --doctor
has '--doctor without a doctor says what is missing' "$status $err" "125 vvarclock: the doctor is missing: $work/tree/build/doctor/"
mkdir "$work/tree/build/doctor"
doctor=$work/tree/build/doctor/vvarclock-doctor
cat >"$doctor" <<'END'
#!/bin/sh
echo "doctor $# [$*] ${LD_PRELOAD##*/} ${VVARCLOCK_ORDER-default}"
exit "${DOCTOR_STATUS:-0}"
END
chmod +x "$doctor"
try vvarclock --doctor
equal '--doctor runs it under the library' '0 doctor 0 [] libvvarclock.so default ' "$status $out $err"
try vvarclock --doctor --json
equal '--doctor --json' '0 doctor 1 [--json] libvvarclock.so default' "$status $out"
try vvarclock --json --order unordered --doctor
equal '--doctor with other options, in any order' '0 doctor 1 [--json] libvvarclock.so unordered' "$status $out"
try vvarclock --hex --doctor --json
equal '--doctor --json --hex' '0 doctor 2 [--json --hex] libvvarclock.so default' "$status $out"
try vvarclock --hex --doctor
equal '--doctor --hex' '0 doctor 1 [--hex] libvvarclock.so default' "$status $out"
for code in 0 1 2 125; do
    DOCTOR_STATUS=$code
    export DOCTOR_STATUS
    try vvarclock --doctor
    equal "the doctor's status $code is ours" "$code" "$status"
done
refused '--doctor with a command' "--doctor takes no command: 'touch'" vvarclock --doctor touch "$work/ran"
refused '--json without --doctor' '--json goes with --doctor' vvarclock --json touch "$work/ran"
refused '--hex without --doctor' '--hex goes with --doctor' vvarclock --hex touch "$work/ran"

# --bench, with a benchmark that shows how it was called.

try vvarclock --bench
has '--bench without a benchmark says what is missing' "$status $err" \
    "125 vvarclock: the benchmark is missing: $work/tree/build/bench/"
mkdir "$work/tree/build/bench"
bench=$work/tree/build/bench/vvarclock-bench
cat >"$bench" <<'END'
#!/bin/sh
printf '%s|' "$#" "$@" "${LD_PRELOAD-unset}" "${VVARCLOCK_ORDER-unset}"
exit "${BENCH_STATUS:-0}"
END
chmod +x "$bench"
try vvarclock --bench
equal '--bench runs it without the library, and names the library' \
    "0 2|--library|$work/tree/build/preload/libvvarclock.so|unset|unset| " "$status $out $err"
try vvarclock --bench --quick --json 'a file' --order
equal 'what stands after --bench is the benchmark'"'"'s' \
    "0 6|--library|$work/tree/build/preload/libvvarclock.so|--quick|--json|a file|--order|unset|unset|" "$status $out"
for code in 0 1 125; do
    BENCH_STATUS=$code
    export BENCH_STATUS
    try vvarclock --bench
    equal "the benchmark's status $code is ours" "$code" "$status"
done
refused '--order before --bench' '--bench measures every order' vvarclock --order lfence --bench touch "$work/ran"
refused '--report before --bench' '--bench measures every order' vvarclock --report --bench touch "$work/ran"
refused '--json before --bench' 'the options of --bench stand after it' vvarclock --json --bench touch "$work/ran"
rm "$work/tree/build/preload/libvvarclock.so"
try vvarclock --bench
has '--bench without a library says what is missing' "$status $err" '125 vvarclock: the library is missing'

finish
