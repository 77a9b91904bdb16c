#include "doctor/prices.h"

#include "arch/x86/rdtsc.h"

namespace vvarclock::doctor {
namespace {

int (*measuring_function)(clockid_t, timespec*) = nullptr;

std::uint64_t measuring_now() noexcept {
  timespec time{};
  measuring_function(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

template <arch::Counter C>
void read_counter(std::uint32_t reads) {
  for (; reads != 0; --reads) {
    C::read();
  }
}

// What a program's call reaches when that is our library; else its readers, made here.
Way our_way(const Examination& all) {
  if (all.library.first) {
    return program_way();
  }
  if (all.found.outcome != discover::Outcome::kBound) {
    return {};
  }
  serve::dispatch.binding = all.found.binding;
  return reader_way(all.readers());
}

}  // namespace

std::vector<Subject> counter_subjects(bool rdtscp) {
  std::vector<Subject> subjects{{"rdtsc", &read_counter<arch::UnorderedTsc>},
                                {"lfence; rdtsc", &read_counter<arch::LfenceTsc>}};
  if (rdtscp) {
    subjects.push_back({"rdtscp", &read_counter<arch::RdtscpTsc>});
  }
  return subjects;
}

std::uint64_t (*measuring_clock(const Way& vdso, bool counter_allowed))() noexcept {
  measuring_function = vdso.clock_gettime != nullptr && counter_allowed
                           ? vdso.clock_gettime
                           : syscall_way().clock_gettime;
  return &measuring_now;
}

void find_prices(Examination& all) {
  const Way vdso = vdso_way(all.found.image);
  const Way ours = our_way(all);
  const Way kernel = syscall_way();
  std::vector<Subject> subjects;
  std::vector<std::optional<Figure> Price::*> columns;
  std::vector<std::size_t> rows;
  const auto add = [&](const Call& call, const Way& way, std::optional<Figure> Price::*column) {
    if (has(way, call)) {
      subjects.push_back({call.name, repeated(way, call)});
      columns.push_back(column);
      rows.push_back(all.prices.size() - 1);
    }
  };
  for (const Call& call : kCalls) {
    all.prices.push_back({call.name, {}, {}, {}});
    add(call, ours, &Price::ours);
    // The vDSO would fault on a forbidden counter.
    add(call, all.counter_allowed || !call.reads_counter ? vdso : Way{}, &Price::vdso);
    add(call, kernel, &Price::syscall);
  }
  // Where there is no page, CPUID is not to be trusted about the counter either: emulators promise
  // what they lack.
  if (all.counter_allowed && all.found.outcome == discover::Outcome::kBound) {
    for (Subject& subject : counter_subjects(all.has_rdtscp)) {
      subjects.push_back(std::move(subject));
    }
  }
  const std::vector<Figure> figures =
      measure(subjects, {31, 40'000, measuring_clock(vdso, all.counter_allowed)});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    all.prices[rows[i]].*columns[i] = figures[i];
  }
  all.counters.assign(figures.begin() + static_cast<std::ptrdiff_t>(rows.size()), figures.end());
}

}  // namespace vvarclock::doctor
