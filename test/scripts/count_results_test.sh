#!/bin/sh
# Guards against: a count that makes a failed, a skipped or a dead test look passed, or a last line of another form.
set -u
top=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM
# The interpreter itself: what PATH has may be a script that looks for it, which takes its time.
python=$(python3 -c 'import sys; print(sys.executable)')
points=0
failed=0

# counted NAME WANTED-LAST-LINE WANTED-STATUS [STATUS-OF-MESON] <LOG
counted() {
    cat >"$work/log.json"
    "$python" "$top/scripts/lib/count_results.py" "$work/log.json" ${4+"$4"} >"$work/out" 2>&1
    got="$? $(tail -n 1 "$work/out")"
    points=$((points + 1))
    if [ "$got" = "$3 $2" ]; then
        echo "ok $points - $1"
    else
        failed=1
        echo "not ok $points - $1"
        printf 'wanted: %s %s\ngot:    %s\n' "$3" "$2" "$got" | cat - "$work/out" | sed 's/^/# /'
    fi
}

# says NAME TEXT: in the last output.
says() {
    points=$((points + 1))
    if grep -Fq -- "$2" "$work/out"; then
        echo "ok $points - $1"
    else
        failed=1
        echo "not ok $points - $1"
        sed 's/^/# /' "$work/out"
    fi
}

counted 'plain tests: one each' '2 passed, 0 failed, 0 skipped' 0 <<'END'
{"name": "a", "result": "OK", "stdout": "", "returncode": 0}
{"name": "b", "result": "OK", "stdout": "fine\n", "returncode": 0}
END
counted 'a plain failure, a time-out, a crash' '0 passed, 3 failed, 0 skipped' 1 1 <<'END'
{"name": "a", "result": "FAIL", "stdout": "", "returncode": 1}
{"name": "b", "result": "TIMEOUT", "stdout": "", "returncode": -9}
{"name": "c", "result": "ERROR", "stdout": "", "returncode": 99}
END
says 'a failure is named' '  b: timeout'
counted 'a skipped test' '0 passed, 0 failed, 2 skipped' 0 <<'END'
{"name": "a", "result": "SKIP", "stdout": "looking\nskipped: no such tool\nbye\n", "returncode": 77}
{"name": "b", "result": "SKIP", "stdout": "", "stderr": "needs root\n", "returncode": 77}
END
says 'the reason that a line names' '  a: no such tool'
says 'the reason that is the last line' '  b: needs root'

counted 'Catch2: all passed' '13 passed, 0 failed, 0 skipped' 0 <<'END'
{"name": "a", "result": "OK", "stdout": "=====\nAll tests passed (345 assertions in 12 test cases)\n\n", "returncode": 0}
{"name": "b", "result": "OK", "stdout": "=====\nAll tests passed (1 assertion in 1 test case)\n\n", "returncode": 0}
END
counted 'Catch2: some failed' '7 passed, 2 failed, 0 skipped' 1 1 <<'END'
{"name": "a", "result": "FAIL", "stdout": "=====\ntest cases:  9 |  6 passed | 2 failed | 1 failed as expected\nassertions: 99 | 97 passed | 2 failed\n", "returncode": 2}
END
counted 'Catch2 version 3: its own skips' '3 passed, 1 failed, 2 skipped' 1 1 <<'END'
{"name": "a", "result": "FAIL", "stdout": "test cases: 6 | 3 passed | 2 skipped | 1 failed\nassertions: - none -\n", "returncode": 1}
END
rule=-------------------------------------------------------------------------------
counted 'Catch2: cases that said why they are skipped, one of them twice' '3 passed, 0 failed, 2 skipped' 0 <<END
{"name": "a", "result": "OK", "stdout": "$rule\ncase one\n$rule\nx_test.cc:5\n.....\n\nx_test.cc:6: warning:\n  skipped: no namespaces\n\n$rule\ncase two\n  section\n$rule\nx_test.cc:9\n....\n\nx: warning:\n  skipped: not root\n\n$rule\ncase two\n  other section\n$rule\nx_test.cc:9\n....\n\nx: warning:\n  skipped: not root\n\n=====\nAll tests passed (3 assertions in 5 test cases)\n", "returncode": 0}
END
says 'case and reason are named' '  a: case one: no namespaces'
counted 'Catch2: died after some output' '0 passed, 1 failed, 0 skipped' 1 1 <<'END'
{"name": "a", "result": "FAIL", "stdout": "half a line", "returncode": -11}
END
counted 'Catch2: every case passed, and then it died' '4 passed, 1 failed, 0 skipped' 1 1 <<'END'
{"name": "a", "result": "FAIL", "stdout": "All tests passed (3 assertions in 4 test cases)\n", "returncode": -6}
END

counted 'TAP: points' '2 passed, 1 failed, 1 skipped' 1 1 <<'END'
{"name": "a", "result": "FAIL", "stdout": "ok 1 - one\nok 2 - two # SKIP no tool\nnot ok 3 - three\n# ok 9 - a comment\nok 4 - four\n1..4\n", "returncode": 1}
END
says 'a failed point is named' '  a: three'
says 'a skipped point is named with its reason' '  a: two: no tool'
counted 'TAP: all skipped' '0 passed, 0 failed, 1 skipped' 0 <<'END'
{"name": "a", "result": "SKIP", "stdout": "1..0 # SKIP dash is not installed\n", "returncode": 0}
END
says 'with its reason' '  a: dash is not installed'
counted 'TAP: points are missing' '1 passed, 1 failed, 0 skipped' 1 1 <<'END'
{"name": "a", "result": "ERROR", "stdout": "1..3\nok 1 - one\n", "returncode": 0}
END

counted 'nothing ran' '0 passed, 1 failed, 0 skipped' 1 </dev/null
counted 'programs without a single test' '0 passed, 2 failed, 0 skipped' 1 <<'END'
{"name": "a", "result": "OK", "stdout": "1..0\n", "returncode": 0}
{"name": "a", "result": "OK", "stdout": "No tests ran\n", "returncode": 0}
END
counted 'meson failed without a failed test' '1 passed, 1 failed, 0 skipped' 1 2 <<'END'
{"name": "a", "result": "OK", "stdout": "", "returncode": 0}
END
rm "$work/log.json"
"$python" "$top/scripts/lib/count_results.py" "$work/gone.json" >"$work/out" 2>&1 && echo passed >>"$work/out"
says 'no log is a failure' '0 passed, 1 failed, 0 skipped'

echo "1..$points"
exit "$failed"
