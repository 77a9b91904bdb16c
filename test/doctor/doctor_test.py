#!/usr/bin/env python3
"""The doctor as a whole process: what it says must be true in each kind of process, in both forms.

Usage: doctor_test.py DOCTOR LIBRARY FORBID_COUNTER VERSION

Status 0: passed, 77: skipped with the reason, anything else: failed.
"""
import json
import os
import shutil
import subprocess
import sys

DOCTOR, LIBRARY, FORBID_COUNTER, VERSION = sys.argv[1:]
CALLS = {
    "CLOCK_REALTIME", "CLOCK_MONOTONIC", "CLOCK_MONOTONIC_RAW", "CLOCK_BOOTTIME", "CLOCK_TAI",
    "CLOCK_REALTIME_COARSE", "CLOCK_MONOTONIC_COARSE",
}
COARSE = {"CLOCK_REALTIME_COARSE", "CLOCK_MONOTONIC_COARSE"}


def run(arguments, preload=LIBRARY, before=(), **variables):
    ours = ("VVARCLOCK", "LD_PRELOAD")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    if preload:
        environment["LD_PRELOAD"] = preload
    environment.update(variables)
    return subprocess.run([*before, DOCTOR, *arguments], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def examine(**how):
    done = run(["--json"], **how)
    assert done.returncode in (0, 1, 2), (done.returncode, done.stderr)
    found = json.loads(done.stdout)
    assert found["exit_status"] == done.returncode, (found["exit_status"], done.returncode)
    assert found["version"] == VERSION, (found["version"], VERSION)
    assert set(found["clocks"]) == CALLS, found["clocks"]
    return found


def served(found):
    return {name for name, clock in found["clocks"].items() if clock["served_by"] == "reader"}


def fine_clocks_can_be_served(found):
    return found["clock_mode"] in ("tsc", "pvclock", "hvclock") and not found["reasons"]


def active():
    found = examine()
    assert found["library"]["active"], found["library"]
    assert os.path.samefile(found["library"]["path"], LIBRARY), found["library"]
    # Without the seccomp filter the doctor concludes who serves; with it, it has seen it.
    assert found["library"]["observed"] or not os.path.exists("/proc/sys/kernel/seccomp"), found
    if found["outcome"] == "no-vdso":
        assert found["exit_status"] == 2 and not served(found)
        return
    assert found["attached"] and found["outcome"] == "bound", found
    assert served(found) == (CALLS if fine_clocks_can_be_served(found) else COARSE), found["clocks"]
    for clock in found["clocks"].values():
        assert (clock["reason"] is None) == (clock["served_by"] == "reader"), clock
    for name, price in found["ns_per_call"].items():
        for way in ("vvarclock", "syscall"):
            figure = price[way]
            assert 0 < figure["low"] <= figure["median"] <= figure["high"], (name, way, figure)
    assert found["pages"]["data"]["readable"] and "seq" in found["pages"]["data"], found["pages"]
    assert found["ns_per_counter_read"]["rdtsc"]["median"] > 0
    steps = ["options", "image", "parse", "scan", "probe", "attach"]
    if found["counter_allowed"]:
        assert list(found["start_up_us"]) == steps, found["start_up_us"]
        assert all(0 <= step["low"] <= step["median"] for step in found["start_up_us"].values())
        assert sum(step["median"] for step in found["start_up_us"].values()) > 0
        assert 0 < found["start_up_page_faults"] < 100, found["start_up_page_faults"]
    else:
        assert found["start_up_us"] == {}, found["start_up_us"]
    assert any("Go programs" in text for text in found["advice"]), found["advice"]


def absent():
    found = examine(preload="")
    assert found["exit_status"] == 2 and not served(found), found["clocks"]
    assert found["library"]["path"] is None and not found["attached"], found["library"]
    assert any("not loaded" in text for text in found["advice"]), found["advice"]
    assert found["ns_per_call"]["CLOCK_MONOTONIC"]["syscall"]["median"] > 0


def switched_off():
    for variable, value in (("VVARCLOCK", "off"), ("VVARCLOCK_SOURCE", "syscall")):
        found = examine(**{variable: value})
        assert found["exit_status"] == 2 and not served(found), found["clocks"]
        assert found["library"]["active"] and not found["attached"], found
        assert any(f"{variable}={value}" in text for text in found["advice"]), found["advice"]


def orders():
    ordered = {"rdtscp", "lfence"}
    for asked, allowed in {"unordered": {"unordered"}, "lfence": {"lfence"}, "rdtscp": ordered,
                           "ordered": ordered}.items():
        found = examine(VVARCLOCK_ORDER=asked)
        assert found["order"] in allowed, (asked, found["order"])
        assert (found["order"] == "rdtscp") <= found["cpu"]["rdtscp"], found["order"]


def forbidden_counter():
    # The last library's constructor runs first, so the counter is forbidden when ours attaches.
    found = examine(preload=f"{LIBRARY} {FORBID_COUNTER}")
    assert not found["counter_allowed"], found
    assert served(found) == COARSE and found["exit_status"] == 1, found["clocks"]
    assert not found["ns_per_counter_read"], found["ns_per_counter_read"]
    assert found["ns_per_call"]["CLOCK_MONOTONIC"]["vdso"] is None, found["ns_per_call"]
    assert any("forbidden" in text for text in found["advice"]), found["advice"]


def time_namespace():
    unshare = ["unshare", "--time", "--monotonic", "100000", "--boottime", "200000", "--fork"]
    trial = [*unshare, "true"]
    if shutil.which("unshare") is None or subprocess.run(trial, check=False).returncode != 0:
        print("note: no time namespace can be made here; that part was not tested")
        return
    found = examine(before=unshare)
    assert found["time_namespace"] and found["clock_mode"] != "timens", found
    assert served(found) == (CALLS if fine_clocks_can_be_served(found) else COARSE), found["clocks"]


def text_form():
    done = run([])
    for words in ("vDSO code", VERSION, os.uname().release, "it is active", "clock mode", "clock source",
                  "ns per call", "system call"):
        assert words in done.stdout, (words, done.stdout)
    assert done.returncode == examine()["exit_status"], done.returncode
    assert max(len(line) for line in done.stdout.splitlines() if line.startswith("- ")) <= 100


def hex_of_the_page():
    plain = examine()
    assert "data_page_hex" not in plain, plain
    found = json.loads(run(["--hex", "--json"]).stdout)
    data = bytes.fromhex(found["data_page_hex"])
    assert len(data) == 512, len(data)
    assert int.from_bytes(data[4:8], "little") == found["pages"]["data"]["clock_mode"], found
    text = run(["--hex"]).stdout
    assert "  0x1f0 " in text and "0x200 " not in text, text
    assert "0x1f0" not in run([]).stdout


def wrong_usage():
    for arguments in (["--jason"], ["--json", "--json"], ["--hex", "--hex"], ["command"]):
        done = run(arguments)
        assert done.returncode == 64 and not done.stdout, (arguments, done)
        assert "Usage:" in done.stderr, (arguments, done)


for check in (active, absent, switched_off, orders, forbidden_counter, time_namespace, text_form,
              hex_of_the_page, wrong_usage):
    check()
    print(f"{check.__name__}: passed")
