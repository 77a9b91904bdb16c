// Guards what the report says: a wrong "reader" would hide that programs are slow, and JSON that
// does not parse is no use to a machine.
#include "core/serve/report.h"

#include <sstream>
#include <string>

#include "core/serve/version.h"
#include "test/core/serve/report_scene.h"
#include "test/support/catch.h"

namespace vvarclock::serve {
namespace {

TEST_CASE("the reader serves fine clocks in the modes that have one") {
  Scene scene;
  CHECK(scene.fine() == Service::kReader);
  scene.set_mode(arch::kModePvclock);
  scene.set_stable(true);
  CHECK(scene.fine() == Service::kReader);
  scene.set_mode(arch::kModeHvclock);
  scene.set_sequence(7);
  CHECK(scene.fine() == Service::kReader);
}

TEST_CASE("every reason to ask the kernel is told apart, and coarse clocks stay with the reader") {
  Scene scene;
  SECTION("mode none") {
    scene.set_mode(arch::kModeNone);
    CHECK(scene.fine() == Service::kModeNone);
  }
  SECTION("an unknown mode") {
    scene.set_mode(17);
    CHECK(scene.fine() == Service::kModeUnknown);
  }
  SECTION("pvclock without the STABLE bit") {
    scene.set_mode(arch::kModePvclock);
    scene.set_stable(false);
    CHECK(scene.fine() == Service::kPvclockUnstable);
  }
  SECTION("pvclock without its page") {
    scene.set_mode(arch::kModePvclock);
    scene.found.binding.counters.pvclock = nullptr;
    CHECK(scene.fine() == Service::kNoCounterPage);
  }
  SECTION("pvclock over a page that would fault") {
    scene.set_mode(arch::kModePvclock);
    scene.found.binding.counters.pvclock =
        reinterpret_cast<const std::byte*>(std::uintptr_t{0x10000});
    CHECK(scene.fine() == Service::kNoCounterPage);
  }
  SECTION("hvclock with sequence 0") {
    scene.set_mode(arch::kModeHvclock);
    CHECK(scene.fine() == Service::kHvclockInvalid);
  }
  SECTION("a forbidden counter") {
    scene.report.counter_allowed = false;
    CHECK(scene.fine() == Service::kCounterForbidden);
  }
  CHECK(scene.coarse() == Service::kReader);
  CHECK(holds(scene.json(), R"("CLOCK_MONOTONIC": "syscall")"));
  CHECK(holds(scene.json(), std::string(R"("CLOCK_MONOTONIC": ")") + describe(scene.fine())));
  CHECK(holds(scene.json(), R"("CLOCK_MONOTONIC_COARSE": "reader")"));
  CHECK(holds(scene.text(),
              std::string("CLOCK_MONOTONIC by the system call: ") + describe(scene.fine())));
}

TEST_CASE("an old page: what it does not hold is the kernel's, and its modes have today's names") {
  Scene scene;
  const auto is_row = [&](std::size_t row) { scene.found.layout = &vvar::kLayouts[row]; };
  const auto who = [&](vvar::ClockId id) { return service(scene.report, id); };
  is_row(9);  // 4.5-4.6
  CHECK(scene.fine() == Service::kReader);
  CHECK(who(vvar::kBoottime) == Service::kNotInPage);
  CHECK(who(vvar::kTai) == Service::kNotInPage);
  CHECK(who(vvar::kRealtimeCoarse) == Service::kReader);
  CHECK(holds(scene.text(), "CLOCK_TAI by the system call: this kernel's page has no such clock"));
  scene.set_mode(2);
  CHECK(scene.fine() == Service::kModeNone);
  CHECK(scene.coarse() == Service::kReader);
  CHECK(holds(scene.json(), R"("clock_mode": "hpet")"));
  scene.set_mode(3);
  scene.set_stable(true);
  CHECK(scene.fine() == Service::kReader);
  CHECK(holds(scene.json(), R"("clock_mode": "pvclock")"));
  scene.set_mode(4);
  CHECK(scene.fine() == Service::kModeUnknown);
  is_row(7);  // 4.12-4.19
  scene.set_mode(3);
  scene.set_sequence(7);
  CHECK(holds(scene.json(), R"("clock_mode": "hvclock")"));
  is_row(6);  // 4.20-5.2
  CHECK(who(vvar::kTai) == Service::kReader);
  CHECK(who(vvar::kBoottime) == Service::kNotInPage);
}

TEST_CASE("the raw clock of an old page is a line where the counter allows one") {
  Scene scene;
  scene.found.layout = &vvar::kLayouts[6];  // 4.20-5.2
  const auto raw = [&] { return service(scene.report, vvar::kMonotonicRaw); };
  CHECK(raw() == Service::kRawLine);
  CHECK(holds(scene.text(), "CLOCK_MONOTONIC_RAW by a line in the counter, which a system call"));
  CHECK(holds(scene.json(), R"("CLOCK_MONOTONIC_RAW": "line")"));
  scene.set_mode(arch::kModePvclock);
  CHECK(raw() == Service::kPvclockUnstable);
  scene.set_stable(true);
  CHECK(raw() == Service::kRawLine);
  scene.set_mode(arch::kModeHvclock);
  scene.set_sequence(7);
  CHECK(raw() == Service::kNotInPage);
  scene.set_mode(arch::kModeNone);
  CHECK(raw() == Service::kModeNone);
  scene.options.raw = RawChoice::kSyscall;
  CHECK(raw() == Service::kRawSyscall);
  CHECK(holds(scene.text(),
              "CLOCK_MONOTONIC_RAW by the system call: VVARCLOCK_RAW asks for the system call"));
  CHECK(holds(scene.json(), R"("CLOCK_MONOTONIC_RAW": "syscall")"));
  scene.set_mode(arch::kModeTsc);
  scene.options.raw = RawChoice::kAuto;
  scene.report.counter_allowed = false;
  CHECK(raw() == Service::kCounterForbidden);
}

TEST_CASE("VVARCLOCK_RAW is of no effect where the page has the raw clock") {
  Scene scene;
  scene.options.raw = RawChoice::kSyscall;
  CHECK(service(scene.report, vvar::kMonotonicRaw) == Service::kReader);
}

TEST_CASE("an unknown layout is reported with what the code says of it") {
  Scene scene;
  scene.found.outcome = discover::Outcome::kNoLayout;
  scene.found.hints = {.data = -0x7000, .stride = 0xe8, .highest_id = 23};
  CHECK(holds(scene.text(),
              "the vDSO's code: data at vDSO - 0x7000, second block + 0xe8, clock ids to 23"));
  CHECK(holds(scene.json(),
              R"("code": {"anchor": "vDSO", "data": -28672, "stride": 232, "highest_id": 23, )"
              R"("hpet": false})"));
}

TEST_CASE("what is wrong for the page is wrong for every clock") {
  Scene scene;
  Service expected = Service::kReader;
  SECTION("off") {
    scene.options.on = false;
    expected = Service::kOff;
  }
  SECTION("source syscall") {
    scene.options.source = Source::kSyscall;
    expected = Service::kSourceSyscall;
  }
  SECTION("not attached") {
    scene.report.attached = false;
    expected = Service::kNotAttached;
  }
  SECTION("no layout") {
    scene.found.outcome = discover::Outcome::kNoLayout;
    expected = Service::kNoLayout;
  }
  SECTION("nothing looked for") {
    scene.report.discovery = nullptr;
    expected = Service::kNoLayout;
    CHECK(holds(scene.json(), R"("outcome": "not-looked")"));
  }
  SECTION("a namespace without its real page") {
    scene.enter_namespace(false);
    expected = Service::kNoTimensPage;
  }
  for (const vvar::NamedClock& clock : vvar::kServedClocks) {
    CHECK(service(scene.report, clock.id) == expected);
  }
}

TEST_CASE("in a time namespace the clock mode is the real page's") {
  Scene scene;
  scene.set_mode(arch::kModePvclock);
  scene.set_stable(true);
  scene.enter_namespace(true);
  CHECK(scene.fine() == Service::kReader);
  CHECK(holds(scene.json(), R"("clock_mode": "pvclock", "time_namespace": true)"));
}

TEST_CASE("what attaching cost is told step by step where it was timed") {
  Scene scene;
  CHECK(holds(scene.json(), R"("start_up_cycles": null)"));
  scene.report.began = 100;
  scene.report.ended = 1000;
  scene.found.step_ends = {110, 130, 160, 200, 250};
  CHECK(holds(scene.json(), R"("start_up_cycles": {"options": 10, "image": 20, "parse": 30, )"
                            R"("scan": 40, "probe": 50, "attach": 750})"));
  scene.found.step_ends = {110, 130, 160, 0, 0};  // ended early
  CHECK(holds(scene.json(), R"("scan": 0, "probe": 0, "attach": 840})"));
}

TEST_CASE("the report says what was found") {
  Scene scene;
  const std::string json = scene.json();
  CHECK(holds(json, std::string(R"({"version": ")") + kVersion + R"(", "attached": true)"));
  CHECK(holds(json, R"("outcome": "bound", "layout": "6.17-7.3", "confirmed_by_code": true)"));
  CHECK(holds(json, R"("linux_version_code": "6.18.44")"));
  CHECK(holds(json, R"("refusals": []})"));
  std::istringstream lines(scene.text());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    CHECK(line.rfind("vvarclock: ", 0) == 0);
  }
  CHECK(count > 7);
  CHECK(holds(scene.text(), "layout 6.17-7.3 believed"));
}

// Everything at its longest: a report that does not fit would be cut, and a machine could not read
// it.
TEST_CASE("the longest report fits, in one line, with every refusal") {
  for (const arch::CodeWidth width : {arch::CodeWidth::k32, arch::CodeWidth::k64}) {
    CAPTURE(width);
    Scene scene;
    scene.found.outcome = discover::Outcome::kNoLayout;
    scene.options.source = Source::kSyscall;
    for (const vvar::Layout& layout : vvar::kLayouts) {
      if (!layout.is_for(width)) {
        continue;
      }
      // So many rows before 5.3 are never looked at together: each is, where the code names its
      // data.
      const bool by_code =
          width == arch::CodeWidth::k32 && !vvar::block_layout(layout.block).is_generic();
      scene.found.refusals[scene.found.refusal_count++] =
          by_code ? discover::Refusal{&layout, discover::ProbeTest::kCodeSilent}
                  : discover::Refusal{&layout, discover::ProbeTest::kWallToMonotonic,
                                      static_cast<std::int32_t>(vvar::kMonotonicCoarse),
                                      ~std::uint64_t{0}};
    }
    const std::string json = scene.json();
    CHECK(json.size() < kReportSize);
    CHECK(json.substr(json.size() - 4) == "}]}\n");
    CHECK(json.find('\n') == json.size() - 1);
    CHECK(holds(json, R"("clock": "CLOCK_MONOTONIC_COARSE", "value": 18446744073709551615})"));
    CHECK(holds(json, R"(18446744073709551615}, {"layout": "5.3-5.5", "test": ")"));
    INFO(json.size());
    CHECK(holds(scene.text(), "layout 5.3-5.5 refused: "));
    CHECK(scene.text().back() == '\n');
  }
}

// No machine refuses them all at such length; a report that was cut in the middle would be no JSON.
TEST_CASE("refusals that do not fit are left out and counted") {
  Scene scene;
  scene.found.outcome = discover::Outcome::kNoLayout;
  for (const vvar::Layout& layout : vvar::kLayouts) {
    scene.found.refusals[scene.found.refusal_count++] = {
        &layout, discover::ProbeTest::kWallToMonotonic,
        static_cast<std::int32_t>(vvar::kMonotonicCoarse), ~std::uint64_t{0}};
  }
  const std::string json = scene.json();
  CHECK(json.size() < kReportSize);
  CHECK(holds(json, R"(18446744073709551615}], "refusals_left_out": )"));
  CHECK(json.substr(json.size() - 2) == "}\n");
  const std::string text = scene.text();
  CHECK(text.size() < kReportSize);
  CHECK(holds(text, "more layouts refused\n"));
  CHECK(text.substr(text.size() - 1) == "\n");
  CHECK(holds(text, "CLOCK_TAI by the system call: no layout of the vvar page is believed\n"));
}

}  // namespace
}  // namespace vvarclock::serve
