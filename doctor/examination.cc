#include "doctor/examination.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include <algorithm>
#include <string_view>

#include "arch/x86/cpu.h"
#include "doctor/prices.h"
#include "doctor/raw_line.h"

namespace vvarclock::doctor {
namespace {

constexpr const char* kBySyscall = "syscall";

const char* environment(const char* variable) noexcept { return ::secure_getenv(variable); }

void examine_machine(Examination& all) {
  utsname name{};
  if (::uname(&name) == 0) {
    all.kernel = std::string(name.sysname) + " " + name.release;
    all.machine = name.machine;
  }
  all.source = read_clock_source("");
  all.has_rdtscp = arch::has_rdtscp();
  all.has_invariant_tsc = arch::has_invariant_tsc();
  all.hypervisor = arch::hypervisor_signature().data();
  all.hypervisor.erase(all.hypervisor.find_last_not_of(' ') + 1);  // some signatures are padded
}

void examine_page(Examination& all) {
  all.counter_allowed = discover::counter_allowed();
  const discover::Kernel& kernel = discover::host_kernel(all.counter_allowed);
  all.found = discover::discover(kernel, discover::vdso_address(), discover::kDiagnosisEffort);
  all.pages = look_at_pages(all.found, kernel.readable);
  if (all.wants_hex) {
    all.head = head_of_data(all.found, kernel.readable);
  }
}

// Whether the library serves from the page: what its options and the page allow, and what was seen
// of the coarse clocks, which need the page alone.
bool is_attached(const Examination& all, std::optional<std::uint32_t> without_syscall) {
  const bool may = all.library.first && all.options.on &&
                   all.options.source != serve::Source::kSyscall &&
                   all.found.outcome == discover::Outcome::kBound;
  if (!may || !without_syscall) {
    return may;
  }
  for (std::size_t i = 0; i < kCalls.size(); ++i) {
    if (kCalls[i].id == vvar::kMonotonicCoarse && (*without_syscall & (1U << i)) == 0) {
      return false;
    }
  }
  return true;
}

Clock judge_clock(const Examination& all, const Call& call, bool seen_without_syscall) {
  const serve::Service who = serve::service(all.report(), call.id);
  if (!all.library.first) {
    return {
        call.name, kBySyscall,
        all.library.path.empty() ? "the library is not loaded" : "another library answers first"};
  }
  if (who != serve::Service::kReader) {
    return {call.name, serve::word(who), describe(who)};
  }
  if (all.seen && !seen_without_syscall) {
    return {call.name, kBySyscall, "the reader should answer, but a system call was seen"};
  }
  return {call.name, serve::word(who), ""};
}

void examine_clocks(Examination& all) {
  const Way program = program_way();
  const auto without_syscall = calls_without_syscall(program);
  all.seen = without_syscall.has_value();
  all.attached = is_attached(all, without_syscall);
  for (std::size_t i = 0; i < kCalls.size(); ++i) {
    if (kCalls[i].form == Form::kClockGettime) {
      all.clocks.push_back(
          judge_clock(all, kCalls[i], (without_syscall.value_or(0) & (1U << i)) != 0));
    }
  }
}

void examine_raw_line(Examination& all) {
  if (all.found.outcome == discover::Outcome::kBound &&
      serve::service(all.report(), vvar::kMonotonicRaw) == serve::Service::kRawLine) {
    all.raw_line = find_raw_line(all.found, all.readers());
  }
}

// Of the counter, as the page that is in use says; 0: none says so.
double tsc_hz_of(const std::vector<Page>& pages) {
  for (const Page& page : pages) {
    for (const PageValue& value : page.values) {
      if (std::string_view(value.key) == "tsc_hz") {
        return static_cast<double>(value.number);
      }
    }
  }
  return 0;
}

void examine_start_up(Examination& all) {
  constexpr int kStarts = 15;
  if (all.attached && !all.program.empty()) {
    all.start_up = time_start_up(all.program, kStarts, tsc_hz_of(all.pages));
  }
}

Situation situation_of(const Examination& all) {
  Situation situation;
  situation.library = all.library;
  situation.outcome = all.found.outcome;
  situation.image_error = all.found.image_error;
  serve::Report report = all.report();
  // Without the library the page is still worth advice: the question is then what it would do.
  report.attached = report.attached || !all.library.first;
  situation.fine_clocks = serve::service(report, vvar::kMonotonic);
  situation.mode = serve::is_bound(report) ? serve::clock_mode_now(all.found) : arch::kModeNone;
  situation.order = all.options.order;
  situation.has_rdtscp = all.has_rdtscp;
  situation.has_invariant_tsc = all.has_invariant_tsc;
  situation.hypervisor = all.hypervisor;
  situation.source = all.source;
  return situation;
}

}  // namespace

void examine(Examination& all) {
  all.options = serve::parse_options(&environment);
  all.library = find_library();
  examine_machine(all);
  all.ordering = serve::resolve(all.options.order, all.has_rdtscp);
  examine_page(all);
  examine_clocks(all);
  examine_raw_line(all);
  examine_start_up(all);
  find_prices(all);
  all.advice = advise(situation_of(all));
}

int exit_status(const std::vector<Clock>& clocks) {
  const auto served = std::count_if(clocks.begin(), clocks.end(), [](const Clock& clock) {
    return clock.served_by != kBySyscall;
  });
  if (served == 0) {
    return 2;
  }
  return served == static_cast<std::ptrdiff_t>(clocks.size()) ? 0 : 1;
}

}  // namespace vvarclock::doctor
