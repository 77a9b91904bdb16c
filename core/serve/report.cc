// Who answers a clock id now, and why: the facts that both forms of the report state.
#include "core/serve/report.h"

#include "arch/load.h"
#include "core/discover/kernel.h"
#include "core/serve/raw_reader.h"
#include "core/vvar/seqcount.h"

namespace vvarclock::serve {
namespace {

using discover::Discovery;
using discover::Outcome;

vvar::SeqMode look(const Discovery& bound) noexcept {
  return vvar::look(bound.binding.data, vvar::block_layout(bound.layout->block));
}

// Asked before a hypervisor page is touched: one that the kernel has not given out is a bus error.
bool readable(const std::byte* page, bool counter_allowed) noexcept {
  return page != nullptr && discover::host_kernel(counter_allowed).readable(page);
}

Service service_of_pvclock(const Report& report) noexcept {
  const std::byte* const record = report.discovery->binding.counters.pvclock;
  if (!readable(record, report.counter_allowed)) {
    return Service::kNoCounterPage;
  }
  const auto flags = arch::load<std::uint8_t>(record, arch::pvclock::kFlags);
  return (flags & arch::pvclock::kFlagStable) != 0 ? Service::kReader : Service::kPvclockUnstable;
}

Service service_of_hvclock(const Report& report) noexcept {
  const std::byte* const page = report.discovery->binding.counters.hvclock;
  if (!readable(page, report.counter_allowed)) {
    return Service::kNoCounterPage;
  }
  const auto sequence = arch::load<std::uint32_t>(page, arch::hvclock::kTscSequence);
  return sequence != 0 ? Service::kReader : Service::kHvclockInvalid;
}

Service service_of_counter(const Report& report) noexcept {
  if (!report.counter_allowed) {
    return Service::kCounterForbidden;
  }
  switch (clock_mode_now(*report.discovery)) {
    case arch::kModeNone:
    case arch::kModeHpet:
      return Service::kModeNone;
    case arch::kModeTsc:
      return Service::kReader;
    case arch::kModePvclock:
      return service_of_pvclock(report);
    case arch::kModeHvclock:
      return service_of_hvclock(report);
    default:
      return Service::kModeUnknown;
  }
}

// What the page does not hold. The raw clock needs the counter, and then no record.
Service service_beside_page(const Report& report, vvar::ClockId id) noexcept {
  if (id != vvar::kMonotonicRaw) {
    return Service::kNotInPage;
  }
  if (report.options->raw == RawChoice::kSyscall) {
    return Service::kRawSyscall;
  }
  const Service counter = service_of_counter(report);
  if (counter != Service::kReader) {
    return counter;
  }
  return has_raw_line(clock_mode_now(*report.discovery)) ? Service::kRawLine : Service::kNotInPage;
}

}  // namespace

bool is_bound(const Report& report) noexcept {
  return report.discovery != nullptr && report.discovery->outcome == Outcome::kBound;
}

bool in_time_namespace(const Discovery& bound) noexcept {
  const vvar::SeqMode now = look(bound);
  return now.being_written() && now.marks_timens();
}

const std::byte* data_now(const Discovery& bound) noexcept {
  return in_time_namespace(bound) ? bound.binding.timens_data : bound.binding.data;
}

arch::ClockMode clock_mode_now(const Discovery& bound) noexcept {
  const std::byte* const data = data_now(bound);
  const vvar::BlockLayout& block = vvar::block_layout(bound.layout->block);
  return data == nullptr ? arch::kModeTimens
                         : arch::todays_mode(vvar::look(data, block).mode(), block.modes);
}

Service service(const Report& report, vvar::ClockId id) noexcept {
  if (!report.options->on) {
    return Service::kOff;
  }
  if (report.options->source == Source::kSyscall) {
    return Service::kSourceSyscall;
  }
  if (!is_bound(report)) {
    return Service::kNoLayout;
  }
  if (!report.attached) {
    return Service::kNotAttached;
  }
  if (data_now(*report.discovery) == nullptr) {
    return Service::kNoTimensPage;
  }
  if (!vvar::is_in(id, vvar::block_layout(report.discovery->layout->block).ids)) {
    return service_beside_page(report, id);
  }
  return vvar::is_in(id, vvar::kCoarseIds) ? Service::kReader : service_of_counter(report);
}

const char* describe(Service service) noexcept {
  switch (service) {
    case Service::kReader:
      return "the reader answers";
    case Service::kRawLine:
      return "a line in the counter, which a system call checks four times a second";
    case Service::kOff:
      return "VVARCLOCK is off";
    case Service::kSourceSyscall:
      return "VVARCLOCK_SOURCE asks for the system call";
    case Service::kNoLayout:
      return "no layout of the vvar page is believed";
    case Service::kNotAttached:
      return "the readers are not in place";
    case Service::kNoTimensPage:
      return "the real page behind the time namespace cannot be read";
    case Service::kNotInPage:
      return "this kernel's page has no such clock";
    case Service::kRawSyscall:
      return "VVARCLOCK_RAW asks for the system call";
    case Service::kCounterForbidden:
      return "this process may not read the time-stamp counter";
    case Service::kModeNone:
      return "the kernel's clock source cannot be read by programs (clock mode none or hpet)";
    case Service::kModeUnknown:
      return "the kernel's clock mode is not known";
    case Service::kNoCounterPage:
      return "the hypervisor's clock page cannot be read";
    case Service::kPvclockUnstable:
      return "the hypervisor does not promise one clock for every CPU (pvclock STABLE bit clear)";
    case Service::kHvclockInvalid:
      return "the hypervisor has declared its clock page invalid (hvclock sequence 0)";
  }
  return "?";
}

const char* word(Service service) noexcept {
  return service == Service::kReader ? "reader" : service == Service::kRawLine ? "line" : "syscall";
}

const char* word(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kBound:
      return "bound";
    case Outcome::kNoVdso:
      return "no-vdso";
    case Outcome::kUnreadable:
      return "unreadable";
    case Outcome::kBadImage:
      return "bad-image";
    case Outcome::kNoLayout:
      return "no-layout";
  }
  return "?";
}

}  // namespace vvarclock::serve
