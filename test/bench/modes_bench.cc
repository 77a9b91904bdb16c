// ns per call where this machine may be another, from one interleaved run: the kernel's own vDSO
// and our readers over a page in clock mode tsc, and over one in clock mode hvclock;
// CLOCK_MONOTONIC_RAW by the line that serves kernels before 5.3, over a page of 4.20 that follows
// this machine's own. What calls cost in this machine's own mode is `vvarclock --bench`.
//
// Usage: modes_bench [rounds]. Figures are medians with the middle half of the samples; "!" marks
// unsteady ones.
#include <time.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arch/x86/cpu.h"
#include "core/serve/dispatch.h"
#include "core/serve/raw_reader.h"
#include "doctor/calls.h"
#include "doctor/measure.h"
#include "doctor/prices.h"
#include "test/bench/simulated_mode.h"
#include "test/support/mirrored_page.h"

namespace vvarclock::bench {
namespace {

using doctor::Call;
using doctor::Figure;
using doctor::Subject;
using doctor::Way;

// A way to make the calls, and what must be in place before a batch of them.
struct Column {
  std::string name;
  Way way;
  std::function<void()> prepare;
};

// The readers read the process's one binding, so each batch puts its own there.
Column readers(const char* name, const discover::Discovery& found, const vvar::Binding& binding,
               arch::ClockMode now, arch::Ordering ordering) {
  const serve::Wanted wanted{ordering, true, serve::mode_to_want(binding, now)};
  return {name, doctor::reader_way(serve::page_readers(found.layout->block, wanted)),
          [binding] { serve::dispatch.binding = binding; }};
}

std::vector<Column> columns_simulated(const discover::Discovery& found,
                                      const SimulatedMode& simulated) {
  std::vector<Column> columns{{"vDSO", doctor::vdso_way(simulated.image()), [] {}}};
  columns.push_back(
      readers("lfence", found, simulated.binding(), simulated.mode(), arch::Ordering::kLfence));
  if (arch::has_rdtscp()) {
    columns.push_back(
        readers("rdtscp", found, simulated.binding(), simulated.mode(), arch::Ordering::kRdtscp));
  }
  columns.push_back(readers("unordered", found, simulated.binding(), simulated.mode(),
                            arch::Ordering::kUnordered));
  for (Column& column : columns) {
    column.prepare = [&simulated, prepare = column.prepare] {
      prepare();
      simulated.tick();
    };
  }
  return columns;
}

// A page without a raw record, and the process's raw clock taught by system calls.
class OldPage {
 public:
  explicit OldPage(const discover::Discovery& found)
      : mode_(serve::clock_mode_now(found)),
        page_(found.binding, vvar::block_layout(found.layout->block), vvar::kBlockC,
              test::MirroredPage::Copies::kWhenCalled) {
    serve::begin_raw_clock(page_.binding(), vvar::BlockKind::kC, mode_);
  }

  [[nodiscard]] bool teach() {
    serve::dispatch.binding = page_.binding();
    const serve::Functions calls = functions(arch::Ordering::kLfence);
    constexpr timespec kPause{0, 1'000'000};
    for (int call = 0;
         call < 10'000 && serve::raw_clock.status().state != serve::RawState::kServing; ++call) {
      page_.copy();
      timespec time{};
      calls.own.clock_gettime(CLOCK_MONOTONIC_RAW, &time);
      nanosleep(&kPause, nullptr);
    }
    return serve::raw_clock.status().state == serve::RawState::kServing;
  }

  Column column(const char* name, arch::Ordering ordering) {
    return {name, doctor::reader_way(functions(ordering)), [this] {
              page_.copy();
              serve::dispatch.binding = page_.binding();
            }};
  }

 private:
  [[nodiscard]] serve::Functions functions(arch::Ordering ordering) const {
    return serve::page_readers(vvar::BlockKind::kC,
                               {ordering, true, serve::mode_to_want(page_.binding(), mode_)});
  }

  arch::ClockMode mode_;
  test::MirroredPage page_;
};

std::vector<Column> columns_of_raw(const discover::Discovery& found, OldPage& old) {
  const arch::ClockMode mode = serve::clock_mode_now(found);
  return {{"system call", doctor::syscall_way(), [] {}},
          readers("record, lfence", found, found.binding, mode, arch::Ordering::kLfence),
          readers("record, unordered", found, found.binding, mode, arch::Ordering::kUnordered),
          old.column("line, lfence", arch::Ordering::kLfence),
          old.column("line, unordered", arch::Ordering::kUnordered)};
}

using Calls = std::span<const Call>;
constexpr Calls kRawCall = Calls(doctor::kCalls).subspan(2, 1);
static_assert(kRawCall.front().id == vvar::kMonotonicRaw);

void add_subjects(std::vector<Subject>& subjects, const std::vector<Column>& columns,
                  Calls calls = doctor::kCalls) {
  for (const Call& call : calls) {
    for (const Column& column : columns) {
      subjects.push_back({call.name, [prepare = column.prepare,
                                      run = doctor::repeated(column.way, call)](auto times) {
                            prepare();
                            run(times);
                          }});
    }
  }
}

void print_cell(const Figure& figure, const Figure& first) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f (%.1f-%.1f)%c x%.2f", figure.median, figure.low,
                figure.high, is_unsteady(figure) ? '!' : ' ', first.median / figure.median);
  std::printf("%26s", text.data());
}

// Figures of one group of columns, row by row; x = how many times faster than the first column.
void print_group(const char* title, const std::vector<Column>& columns, const Figure* figures,
                 Calls calls = doctor::kCalls) {
  std::printf("\n%s\n%-24s", title, "");
  for (const Column& column : columns) {
    std::printf("%26s", column.name.c_str());
  }
  std::printf("\n");
  for (const Call& call : calls) {
    std::printf("%-24s", call.name);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      print_cell(figures[i], figures[0]);
    }
    figures += columns.size();
    std::printf("\n");
  }
}

bool all_present(const std::vector<Column>& columns) {
  for (const Column& column : columns) {
    for (const Call& call : doctor::kCalls) {
      if (!has(column.way, call)) {
        std::fprintf(stderr, "modes_bench: %s has no %s\n", column.name.c_str(), call.name);
        return false;
      }
    }
  }
  return true;
}

int run(std::uint32_t rounds) {
  const bool counter_allowed = discover::counter_allowed();
  const discover::Discovery found = discover::discover(
      discover::host_kernel(counter_allowed), discover::vdso_address(), discover::kDiagnosisEffort);
  if (found.outcome != discover::Outcome::kBound || !counter_allowed) {
    std::fprintf(stderr, "modes_bench: nothing to measure: %s\n", describe(found.outcome));
    return 1;
  }
  const SimulatedMode tsc(found, arch::kModeTsc);
  const SimulatedMode hvclock(found, arch::kModeHvclock);
  if (!tsc.ready() || !hvclock.ready()) {
    std::fprintf(stderr, "modes_bench: this process may not make its own memory executable\n");
    return 1;
  }
  const std::vector<Column> in_tsc = columns_simulated(found, tsc);
  const std::vector<Column> in_hvclock = columns_simulated(found, hvclock);
  if (!all_present(in_tsc) || !all_present(in_hvclock)) {
    return 1;
  }
  const char* const no_line = test::why_no_raw_line(found);
  std::optional<OldPage> old;
  std::vector<Column> of_raw;
  if (no_line == nullptr) {
    old.emplace(found);
    if (!old->teach()) {
      std::fprintf(stderr, "modes_bench: the raw clock found no line in ten seconds\n");
      return 1;
    }
    of_raw = columns_of_raw(found, *old);
  }
  std::vector<Subject> subjects;
  add_subjects(subjects, in_tsc);
  add_subjects(subjects, in_hvclock);
  add_subjects(subjects, of_raw, kRawCall);
  const auto now = doctor::measuring_clock(doctor::vdso_way(found.image), counter_allowed);
  const std::vector<Figure> figures = measure(subjects, {rounds, 50'000, now});
  std::printf(
      "ns per call: median (middle half) and times faster than the vDSO; %u rounds, layout %s\n",
      rounds, found.layout->name);
  print_group("Over a page in clock mode tsc", in_tsc, figures.data());
  print_group("Over a page in clock mode hvclock (the Hyper-V TSC page)", in_hvclock,
              figures.data() + in_tsc.size() * doctor::kCalls.size());
  if (no_line == nullptr) {
    print_group(
        "CLOCK_MONOTONIC_RAW in this machine's mode: the page's record, and the line of kernels "
        "before 5.3",
        of_raw, figures.data() + (in_tsc.size() + in_hvclock.size()) * doctor::kCalls.size(),
        kRawCall);
  } else {
    std::printf("\nCLOCK_MONOTONIC_RAW by a line is not measured: %s\n", no_line);
  }
  return 0;
}

}  // namespace
}  // namespace vvarclock::bench

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 201;
  if (rounds < 1) {
    std::fprintf(stderr, "Usage: modes_bench [rounds]\n");
    return 64;
  }
  return vvarclock::bench::run(static_cast<std::uint32_t>(rounds));
}
