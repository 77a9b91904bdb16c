// Guards against advice that does harm (a switch to a clock source that is not offered, or without
// its risk) and against situations without any advice.
#include "doctor/advice.h"

#include "test/support/catch.h"

namespace vvarclock::doctor {
namespace {

using discover::Outcome;
using serve::Service;

Situation healthy() {
  Situation situation;
  situation.library = {"/lib/libvvarclock.so", "/lib/libvvarclock.so", true};
  situation.outcome = Outcome::kBound;
  situation.fine_clocks = Service::kReader;
  situation.mode = arch::kModeTsc;
  situation.has_rdtscp = true;
  situation.has_invariant_tsc = true;
  situation.source = {"tsc", {"tsc", "hpet", "acpi_pm"}, {}};
  return situation;
}

Situation in_mode_none(const char* current, std::vector<std::string> available) {
  Situation situation = healthy();
  situation.fine_clocks = Service::kModeNone;
  situation.mode = arch::kModeNone;
  situation.source = {current, std::move(available), {}};
  return situation;
}

std::string all_of(const Situation& situation) {
  std::string text;
  for (const std::string& piece : advise(situation)) {
    text += piece + "\n";
  }
  return text;
}

bool holds(const std::string& whole, const std::string& part) {
  return whole.find(part) != std::string::npos;
}

TEST_CASE("when all is well only what can never be served is mentioned") {
  const std::vector<std::string> advice = advise(healthy());
  REQUIRE(advice.size() == 1);
  CHECK(holds(advice[0], "Static programs and Go programs"));
}

TEST_CASE("mode none, tsc offered: how to switch, and the risk") {
  const std::string text = all_of(in_mode_none("hpet", {"tsc", "hpet", "acpi_pm"}));
  CHECK(holds(text, "clock source is hpet"));
  CHECK(holds(text, "Available: tsc, hpet, acpi_pm."));
  CHECK(holds(text, "echo tsc > "));
  CHECK(holds(text, "Risk: "));
  CHECK_FALSE(holds(text, "no invariant TSC"));
  CHECK_FALSE(holds(text, "virtual machine"));
}

TEST_CASE("mode none, tsc offered on a CPU or in a machine that does not promise its rate") {
  Situation situation = in_mode_none("hpet", {"tsc", "hpet"});
  situation.has_invariant_tsc = false;
  situation.hypervisor = "VMwareVMware";
  CHECK(holds(all_of(situation), "no invariant TSC"));
  CHECK(holds(all_of(situation), "In a virtual machine"));
}

TEST_CASE("mode none, tsc not offered: never told to switch to it") {
  Situation situation = in_mode_none("hpet", {"hpet", "acpi_pm"});
  CHECK_FALSE(holds(all_of(situation), "echo tsc"));
  CHECK(holds(all_of(situation), "the kernel has marked it unstable"));
  CHECK(holds(all_of(situation), "Do not force it with tsc=reliable"));
  situation.source.boot_words = {"tsc=unstable"};
  CHECK(holds(all_of(situation), "booted with tsc=unstable"));
  CHECK(holds(all_of(situation), "Do not force it"));
}

TEST_CASE("mode none in a virtual machine: the hypervisor's own clock comes first") {
  for (const char* source : {"kvm-clock", "xen", "hyperv_clocksource_tsc_page"}) {
    const std::string text = all_of(in_mode_none("acpi_pm", {"tsc", source, "acpi_pm"}));
    CHECK(holds(text, std::string("echo ") + source + " > "));
    CHECK(text.find(std::string("echo ") + source) < text.find("echo tsc"));
  }
}

TEST_CASE("mode none under the hypervisor's own clock: no switch to what is there already") {
  CHECK_FALSE(holds(all_of(in_mode_none("kvm-clock", {"kvm-clock", "tsc"})), "echo kvm-clock"));
}

TEST_CASE("mode none without sysfs, and mode none under tsc itself") {
  CHECK(holds(all_of(in_mode_none("", {})), "clock source is not known"));
  CHECK(holds(all_of(in_mode_none("", {})), "not visible from here"));
  const std::string text = all_of(in_mode_none("tsc", {"tsc"}));
  CHECK(holds(text, "keeps it from programs"));
  CHECK_FALSE(holds(text, "echo tsc"));
}

TEST_CASE("the library's absence and a library in front of it are told apart") {
  Situation situation = healthy();
  situation.library = {"", "/lib/libc.so.6", false};
  CHECK(holds(all_of(situation), "not loaded into this process"));
  situation.library = {"/lib/libvvarclock.so", "/lib/libfaketime.so.1", false};
  CHECK(holds(all_of(situation), "go to /lib/libfaketime.so.1 first"));
}

TEST_CASE("every outcome without a page has its own words, and strange ones ask for a message") {
  Situation situation = healthy();
  situation.fine_clocks = Service::kNoLayout;
  situation.outcome = Outcome::kNoVdso;
  CHECK(holds(all_of(situation), "no vDSO"));
  CHECK_FALSE(holds(all_of(situation), "send the maintainers"));
  situation.outcome = Outcome::kUnreadable;
  CHECK(holds(all_of(situation), "cannot be read"));
  situation.outcome = Outcome::kNoLayout;
  CHECK(holds(all_of(situation), "refuses to guess"));
  CHECK(holds(all_of(situation), "send the maintainers"));
  situation.outcome = Outcome::kBadImage;
  situation.image_error = discover::ImageError::kNoDynamic;
  CHECK(holds(all_of(situation), describe(discover::ImageError::kNoDynamic)));
  CHECK(holds(all_of(situation), "send the maintainers"));
}

TEST_CASE("every service but the reader gets advice of its own") {
  std::vector<std::string> seen;
  for (const Service service :
       {Service::kOff, Service::kSourceSyscall, Service::kNotAttached, Service::kNoTimensPage,
        Service::kNotInPage, Service::kCounterForbidden, Service::kModeNone, Service::kModeUnknown,
        Service::kNoCounterPage, Service::kPvclockUnstable, Service::kHvclockInvalid}) {
    Situation situation = healthy();
    situation.fine_clocks = service;
    const std::string text = all_of(situation);
    CHECK(text.size() > all_of(healthy()).size());
    CHECK(std::find(seen.begin(), seen.end(), text) == seen.end());
    seen.push_back(text);
  }
}

TEST_CASE("pvclock that works is left alone, with the reason when tsc is there too") {
  Situation situation = healthy();
  situation.mode = arch::kModePvclock;
  situation.source = {"kvm-clock", {"kvm-clock"}, {}};
  CHECK(holds(all_of(situation), "stays right when the machine is moved"));
  CHECK_FALSE(holds(all_of(situation), "The source tsc"));
  situation.source.available.emplace_back("tsc");
  CHECK(holds(all_of(situation), "leave it unless you know"));
}

TEST_CASE("orders that mean something else than they say") {
  Situation situation = healthy();
  situation.order = serve::OrderChoice::kRdtscp;
  CHECK_FALSE(holds(all_of(situation), "does not offer rdtscp"));
  situation.has_rdtscp = false;
  CHECK(holds(all_of(situation), "does not offer rdtscp"));
  situation.order = serve::OrderChoice::kUnordered;
  CHECK(holds(all_of(situation), "step back"));
}

}  // namespace
}  // namespace vvarclock::doctor
