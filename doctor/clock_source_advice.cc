// Advice for clock mode none: the reader can do nothing, but the administrator may.
#include "doctor/advice.h"

namespace vvarclock::doctor {
namespace {

// The sources that hypervisors make for their guests. Which one is offered tells more than the
// CPUID signature, which can be that of another product.
const char* guest_source(const ClockSource& source) {
  for (const char* name : {"kvm-clock", "xen", "hyperv_clocksource_tsc_page"}) {
    if (source.current != name && contains(source.available, name)) {
      return name;
    }
  }
  return nullptr;
}

std::string switch_to(const std::string& source) {
  return "To switch, as root: echo " + source +
         " > /sys/devices/system/clocksource/clocksource0/current_clocksource (until the next "
         "boot; clocksource=" +
         source +
         " on the kernel's command line keeps it). Calls then cost some tens of nanoseconds "
         "instead of a system call; running programs notice by themselves. ";
}

std::string which(const ClockSource& source) {
  return "The clock mode is none: the kernel's clock source is " +
         (source.current.empty() ? "not known" : source.current) +
         ", which programs cannot read by themselves, so every fine clock is a system call, here "
         "and in the kernel's own vDSO. Available: " +
         join(source.available) + ".";
}

std::string about_current_tsc() {
  return "The source is the time-stamp counter and yet the kernel keeps it from programs: in the "
         "first seconds after boot that passes by itself; otherwise the kernel was built or booted "
         "without it for the vDSO.";
}

std::string about_guest_source(const std::string& source) {
  return switch_to(source) +
         "It is the hypervisor's own clock and stays right when the machine is moved to another "
         "host. Risk: the kernel or somebody has chosen otherwise; look for the reason in dmesg "
         "(clocksource) first.";
}

std::string about_tsc(const Situation& situation) {
  std::string text = switch_to("tsc") +
                     "Risk: the kernel or somebody has chosen otherwise, perhaps because the "
                     "counters of the CPUs are not in step; look for the reason in dmesg "
                     "(clocksource, tsc) first, and do not switch when it says unstable.";
  if (!situation.has_invariant_tsc) {
    text +=
        " This CPU does not promise a constant rate (no invariant TSC): with power saving the "
        "clock would run wrong.";
  }
  if (!situation.hypervisor.empty()) {
    text += " In a virtual machine the counter can change its rate when the machine is moved.";
  }
  return text;
}

std::string about_missing_tsc(const Situation& situation) {
  const std::vector<std::string>& words = situation.source.boot_words;
  std::string text = "The source tsc is not available: ";
  if (contains(words, "tsc=unstable") || contains(words, "notsc")) {
    text += "this kernel was booted with " + join(words) +
            ". Somebody decided that; without those words the kernel tests the counter itself.";
  } else {
    text +=
        "the kernel has marked it unstable or never trusted it; dmesg (tsc, clocksource) says why.";
  }
  return text +
         " Do not force it with tsc=reliable without knowing that the counters of all CPUs agree: "
         "time could step back between CPUs, for every program.";
}

}  // namespace

std::vector<std::string> advise_on_clock_source(const Situation& situation) {
  const ClockSource& source = situation.source;
  std::vector<std::string> advice{which(source)};
  if (source.current == "tsc" || source.current == "tsc-early") {
    advice.push_back(about_current_tsc());
    return advice;
  }
  if (source.available.empty()) {
    advice.push_back(
        "Which sources could be chosen is not visible from here (no sysfs); run the doctor outside "
        "the container.");
    return advice;
  }
  if (const char* const guest = guest_source(source)) {
    advice.push_back(about_guest_source(guest));
  }
  advice.push_back(contains(source.available, "tsc") ? about_tsc(situation)
                                                     : about_missing_tsc(situation));
  return advice;
}

}  // namespace vvarclock::doctor
