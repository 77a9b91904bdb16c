#include "doctor/advice.h"

namespace vvarclock::doctor {
namespace {

using discover::Outcome;
using serve::Service;

constexpr const char* kSend =
    "Please send the maintainers the output of `vvarclock --doctor --json`, of `uname -a`, and the "
    "name of the distribution and its kernel package.";

std::string advise_on_library(const Library& library) {
  if (library.path.empty()) {
    return "The library is not loaded into this process, so nothing is served here; the figures "
           "under vvarclock are those of its readers alone. Run the doctor as `vvarclock "
           "--doctor`. If you did, the loader has ignored LD_PRELOAD: it does so for set-user-ID "
           "programs, and says so on standard error for a library that it cannot open.";
  }
  if (!library.first) {
    return "The library is loaded, but calls of clock_gettime go to " + library.answerer +
           " first. That is as it should be when you preload it on purpose (faketime and the "
           "like); the figures under vvarclock are then those of that library.";
  }
  return {};
}

std::string advise_on_outcome(const Situation& situation) {
  switch (situation.outcome) {
    case Outcome::kNoVdso:
      return "The kernel gave this process no vDSO, so there is no page to read: valgrind and "
             "emulators do that, and kernels booted with vdso=0. Every call is a system call, as "
             "it is without vvarclock. Run outside the emulator, or boot without vdso=0.";
    case Outcome::kUnreadable:
      return "The address that the kernel gives for the vDSO cannot be read: something has "
             "unmapped or moved it (a checkpoint tool, a sandbox). Every call is a system call.";
    case Outcome::kBadImage:
      return std::string("The vDSO is not one that can be understood: ") +
             describe(situation.image_error) + ". Sandboxes such as gVisor bring their own. " +
             kSend;
    case Outcome::kNoLayout:
      return std::string(
                 "This kernel's vvar page has a layout that vvarclock does not know, or one that "
                 "it could not prove; it refuses to guess. The refusals above say which test "
                 "failed. ") +
             kSend;
    case Outcome::kBound:
      break;
  }
  return {};
}

std::string advise_on_pvclock(const Situation& situation) {
  std::string text =
      "The hypervisor's clock is in use and the reader serves it. It stays right when the machine "
      "is moved to another host.";
  if (contains(situation.source.available, "tsc")) {
    text +=
        " The source tsc is available too and would save a few nanoseconds per call; it is right "
        "only while the host promises that the counter keeps its rate, so leave it unless you know "
        "that this machine is never moved.";
  }
  return text;
}

// Why the counter is not read although the library is attached, and what would change that.
std::string plain_advice_on_counter(Service service) {
  switch (service) {
    case Service::kCounterForbidden:
      return "This process has been forbidden to read the time-stamp counter (prctl PR_SET_TSC, "
             "set by itself or by what started it). The coarse clocks, time() and clock_getres() "
             "are still served; the others would crash in the kernel's own vDSO and are answered "
             "here by the system call.";
    case Service::kPvclockUnstable:
      return "The hypervisor says that its clock differs from CPU to CPU (the STABLE bit is "
             "clear), so neither the vDSO nor vvarclock may read it. The cause is on the host: its "
             "own clock source is not tsc, or its counters are not in step. It can pass after a "
             "migration.";
    case Service::kHvclockInvalid:
      return "Hyper-V has declared its clock page invalid (sequence 0), as it does around a "
             "migration to a host with another counter rate. It comes back by itself when the host "
             "offers the page again.";
    default:
      return {};
  }
}

// What needs no more than a few words, whatever the machine.
std::string plain_advice(Service service) {
  switch (service) {
    case Service::kOff:
      return "VVARCLOCK=off is set in the environment: every call is a system call. Unset it to be "
             "served.";
    case Service::kSourceSyscall:
      return "VVARCLOCK_SOURCE=syscall is set in the environment: every call is a system call. "
             "Unset it to be served.";
    case Service::kNotAttached:
      return std::string(
                 "The page is understood here, yet the library does not serve from it. Run "
                 "`vvarclock --report true` to see what it met while attaching. ") +
             kSend;
    case Service::kNoTimensPage:
      return std::string("This process is in a time namespace whose real page cannot be read. ") +
             kSend;
    case Service::kNotInPage:
      return "This kernel's page does not hold the clock; newer kernels' pages do.";
    case Service::kModeUnknown:
      return std::string("The kernel uses a clock mode that vvarclock does not know. ") + kSend;
    case Service::kNoCounterPage:
      return std::string(
                 "The hypervisor's clock page, which the clock mode names, cannot be read here. ") +
             kSend;
    default:
      return plain_advice_on_counter(service);
  }
}

std::vector<std::string> advise_on_service(const Situation& situation) {
  switch (situation.fine_clocks) {
    case Service::kReader:
      return situation.mode == arch::kModePvclock ? std::vector{advise_on_pvclock(situation)}
                                                  : std::vector<std::string>{};
    case Service::kNoLayout:
      return {advise_on_outcome(situation)};
    case Service::kModeNone:
      return advise_on_clock_source(situation);
    default:
      return {plain_advice(situation.fine_clocks)};
  }
}

}  // namespace

std::vector<std::string> advise(const Situation& situation) {
  std::vector<std::string> advice;
  if (std::string text = advise_on_library(situation.library); !text.empty()) {
    advice.push_back(text);
  }
  for (const std::string& text : advise_on_service(situation)) {
    if (!text.empty()) {
      advice.push_back(text);
    }
  }
  if (situation.order == serve::OrderChoice::kRdtscp && !situation.has_rdtscp) {
    advice.push_back(
        "VVARCLOCK_ORDER=rdtscp is set, but the CPU does not offer rdtscp: lfence is used, which "
        "is ordered too.");
  }
  if (situation.order == serve::OrderChoice::kUnordered) {
    advice.push_back(
        "Unordered reads are cheaper; time stamps that threads hand to each other can then step "
        "back by up to microseconds.");
  }
  advice.push_back(
      "Static programs and Go programs do not call the C library for the time, so no preloaded "
      "library can serve them.");
  return advice;
}

}  // namespace vvarclock::doctor
