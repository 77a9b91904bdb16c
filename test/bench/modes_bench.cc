// ns per call in the clock modes that this machine may not have: the kernel's own vDSO and our
// readers over a page in clock mode tsc, and over one in clock mode hvclock, from one interleaved
// run. What calls cost in this machine's own mode is `vvarclock --bench`.
//
// Usage: modes_bench [rounds]. Figures are medians with the middle half of the samples; "!" marks
// unsteady ones.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "arch/x86/cpu.h"
#include "core/serve/dispatch.h"
#include "doctor/calls.h"
#include "doctor/measure.h"
#include "doctor/prices.h"
#include "test/bench/simulated_mode.h"

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

void add_subjects(std::vector<Subject>& subjects, const std::vector<Column>& columns) {
  for (const Call& call : doctor::kCalls) {
    for (const Column& column : columns) {
      subjects.push_back({call.name, [prepare = column.prepare,
                                      run = doctor::repeated(column.way, call)](auto calls) {
                            prepare();
                            run(calls);
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
void print_group(const char* title, const std::vector<Column>& columns, const Figure* figures) {
  std::printf("\n%s\n%-24s", title, "");
  for (const Column& column : columns) {
    std::printf("%26s", column.name.c_str());
  }
  std::printf("\n");
  for (const Call& call : doctor::kCalls) {
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
  std::vector<Subject> subjects;
  add_subjects(subjects, in_tsc);
  add_subjects(subjects, in_hvclock);
  const auto now = doctor::measuring_clock(doctor::vdso_way(found.image), counter_allowed);
  const std::vector<Figure> figures = measure(subjects, {rounds, 50'000, now});
  std::printf(
      "ns per call: median (middle half) and times faster than the vDSO; %u rounds, layout %s\n",
      rounds, found.layout->name);
  print_group("Over a page in clock mode tsc", in_tsc, figures.data());
  print_group("Over a page in clock mode hvclock (the Hyper-V TSC page)", in_hvclock,
              figures.data() + in_tsc.size() * doctor::kCalls.size());
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
