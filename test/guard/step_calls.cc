// How many instructions each exported function of the built library runs, from its first one to its
// return: for every clock, in every order and clock mode, over every block of the generic vDSO.
//
// A child is stepped through, instruction by instruction, so the numbers are exact and the same on
// a busy machine. Callgrind cannot do this: valgrind hides the vDSO (it removes AT_SYSINFO_EHDR),
// so under it nothing is served and every call is a system call.
//
// Runs under the library. First over the machine's own page, as the library attached to it; then
// over simulated pages, for which the library's own page_readers and attach are called again by
// their addresses. So every mode is counted whatever the machine's clock mode is; and rdtscp, which
// a CPU may not have, is carried out by the tracer in the child's place. The fewest of several
// calls counts: a page update can lengthen one.
//
// Usage: step_calls DISPATCH PAGE_READERS ATTACH: the three symbols' addresses in the library file.
// Prints lines "steps CALL ORDER MODE COUNT PAGE". Judges nothing: code_test.py does.
#include <sys/mman.h>
#include <sys/ptrace.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <new>
#include <optional>
#include <vector>

#include "core/discover/discovery.h"
#include "core/serve/dispatch.h"
#include "core/serve/report.h"
#include "test/guard/tracer.h"
#include "test/support/fake_kernel.h"
#include "test/support/process.h"

namespace vvarclock::process {
namespace {

// Enough calls: so many, and the fewest seen twice. On a real page the kernel's next tick meets a
// call that is stepped through slowly more often than not, and a carry into the seconds stays until
// that tick.
constexpr int kRounds = 3;
constexpr int kRoundsOnRealPage = 25;
constexpr int kMostRounds = 1000;
constexpr useconds_t kBetweenRounds = 3'000;

template <clockid_t Id>
bool read_clock() {
  timespec now{};
  return ::clock_gettime(Id, &now) == 0;
}

bool read_timeval() {
  timeval now{};
  return ::gettimeofday(&now, nullptr) == 0;
}

bool read_seconds() {
  time_t now = 0;
  return ::time(&now) > 0;
}

bool read_timespec() {
  timespec now{};
  return ::timespec_get(&now, TIME_UTC) == TIME_UTC;
}

bool read_resolution() {
  timespec resolution{};
  return ::clock_getres(CLOCK_MONOTONIC, &resolution) == 0;
}

struct Stepped {
  const char* name;
  const void* function;
  bool (*call)();
};

template <class Function>
const void* address(Function* function) {
  return reinterpret_cast<const void*>(function);
}

std::vector<Stepped> stepped_calls() {
  const void* const clock = address(&::clock_gettime);
  return {{"CLOCK_REALTIME", clock, read_clock<CLOCK_REALTIME>},
          {"CLOCK_MONOTONIC", clock, read_clock<CLOCK_MONOTONIC>},
          {"CLOCK_MONOTONIC_RAW", clock, read_clock<CLOCK_MONOTONIC_RAW>},
          {"CLOCK_REALTIME_COARSE", clock, read_clock<CLOCK_REALTIME_COARSE>},
          {"CLOCK_MONOTONIC_COARSE", clock, read_clock<CLOCK_MONOTONIC_COARSE>},
          {"CLOCK_BOOTTIME", clock, read_clock<CLOCK_BOOTTIME>},
          {"CLOCK_TAI", clock, read_clock<CLOCK_TAI>},
          {"gettimeofday", address(&::gettimeofday), read_timeval},
          {"time", address(&::time), read_seconds},
          {"timespec_get", address(&::timespec_get), read_timespec},
          {"clock_getres", address(&::clock_getres), read_resolution}};
}

// One page to step over. No layout: the machine's own.
struct Page {
  const char* name;
  const vvar::Layout* layout;
  arch::Ordering ordering;
  arch::ClockMode mode;
};

const char* order_name(arch::Ordering ordering) {
  switch (ordering) {
    case arch::Ordering::kUnordered:
      return "unordered";
    case arch::Ordering::kRdtscp:
      return "rdtscp";
    case arch::Ordering::kLfence:
      break;
  }
  return "lfence";
}

arch::Ordering ordering_in_effect() {
  const bool rdtscp = order() == "rdtscp" || (order() == "ordered" && arch::has_rdtscp());
  return is_unordered() ? arch::Ordering::kUnordered
         : rdtscp       ? arch::Ordering::kRdtscp
                        : arch::Ordering::kLfence;
}

// Where the library serves the machine's own clocks from the generic vDSO's pages.
std::optional<Page> machine_page() {
  const bool counter_allowed = discover::counter_allowed();
  const discover::Discovery found = discover::discover(
      discover::host_kernel(counter_allowed), discover::vdso_address(), discover::kAttachEffort);
  if (found.outcome != discover::Outcome::kBound || !counter_allowed ||
      !vvar::block_layout(found.layout->block).is_generic()) {
    return {};
  }
  const arch::ClockMode mode = serve::clock_mode_now(found);
  if (mode < arch::kModeTsc || mode > arch::kModeHvclock) {
    return {};
  }
  return Page{"machine", nullptr, ordering_in_effect(), mode};
}

// The first layout of each block kind, in every order and mode.
std::vector<Page> simulated_pages() {
  std::vector<Page> pages;
  std::vector<vvar::BlockKind> kinds;
  for (const vvar::Layout& layout : vvar::kLayouts) {
    if (!vvar::block_layout(layout.block).is_generic() ||
        std::find(kinds.begin(), kinds.end(), layout.block) != kinds.end()) {
      continue;
    }
    kinds.push_back(layout.block);
    for (const auto ordering :
         {arch::Ordering::kLfence, arch::Ordering::kRdtscp, arch::Ordering::kUnordered}) {
      for (const arch::ClockMode mode : {arch::kModeTsc, arch::kModePvclock, arch::kModeHvclock}) {
        pages.push_back({layout.name, &layout, ordering, mode});
      }
    }
  }
  return pages;
}

// The library's own functions, which it does not export.
class Insides {
 public:
  explicit Insides(char** offsets)
      : dispatch_(at(offsets[0])),
        page_readers_(reinterpret_cast<decltype(&serve::page_readers)>(at(offsets[1]))),
        attach_(reinterpret_cast<decltype(&serve::attach)>(at(offsets[2]))) {}

  void attach(const Page& page, const vvar::Binding& binding) const {
    expect(mprotect(dispatch_, sizeof(serve::Dispatch), PROT_READ | PROT_WRITE) == 0,
           "mprotect: %s", std::strerror(errno));
    const vvar::BlockKind kind = page.layout->block;
    attach_(binding, kind, page_readers_(kind, {page.ordering, true, page.mode}));
  }

 private:
  static void* at(const char* offset) {
    Dl_info library{};
    expect(dladdr(address(&::clock_gettime), &library) != 0, "the library's base is unknown");
    return static_cast<char*>(library.dli_fbase) + std::strtoul(offset, nullptr, 16);
  }

  void* dispatch_;
  decltype(&serve::page_readers) page_readers_;
  decltype(&serve::attach) attach_;
};

// The tracer's word to the child: the next call now.
using Enough = std::atomic<bool>;

void make_calls(const std::vector<Stepped>& calls, const Enough& enough, test::FakeKernel* kernel) {
  for (const Stepped& stepped : calls) {
    do {
      if (kernel != nullptr) {
        kernel->tick();
      } else {
        usleep(kBetweenRounds);
      }
      asm volatile("int3" ::: "memory");
      expect(stepped.call(), "%s failed", stepped.name);
    } while (!enough.load());
  }
}

[[noreturn]] void be_stepped(const std::vector<Page>& pages, const std::vector<Stepped>& calls,
                             const Enough& enough, const Insides& insides) {
  expect(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0, "ptrace: %s", std::strerror(errno));
  raise(SIGTRAP);
  for (const Page& page : pages) {
    if (page.layout == nullptr) {
      make_calls(calls, enough, nullptr);
      continue;
    }
    test::FakeKernel kernel(*page.layout, {.mode = page.mode, .real_counter = true});
    insides.attach(page, kernel.binding());
    make_calls(calls, enough, &kernel);
  }
  _exit(0);
}

long fewest_steps(const Tracer& tracer, const void* function, int rounds, Enough& enough) {
  long fewest = kMostSteps;
  int times = 0;
  bool done = false;
  for (int round = 1; !done; ++round) {
    tracer.run_to_marker();
    enough = false;  // not sooner: the child looks at it on its way to the marker
    const long steps = tracer.steps_of(function);
    times = steps < fewest ? 1 : times + (steps == fewest ? 1 : 0);
    fewest = std::min(fewest, steps);
    done = (round >= rounds && times >= 2) || round >= kMostRounds;
    enough = done;
  }
  return fewest;
}

void print_steps(const Tracer& tracer, const Page& page, const std::vector<Stepped>& calls,
                 Enough& enough) {
  for (const Stepped& stepped : calls) {
    const int rounds = page.layout == nullptr ? kRoundsOnRealPage : kRounds;
    note("steps %s %s %s %ld %s", stepped.name, order_name(page.ordering),
         arch::clock_mode_name(page.mode), fewest_steps(tracer, stepped.function, rounds, enough),
         page.name);
  }
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  require_library();
  expect(argc == 4, "Usage: step_calls DISPATCH PAGE_READERS ATTACH");
  std::vector<Page> pages = simulated_pages();
  if (const std::optional<Page> machine = machine_page()) {
    pages.insert(pages.begin(), *machine);  // before the library is bent to simulated pages
  } else {
    note("not stepped: the machine's own page (not the generic vDSO's, or no counter)");
  }
  const std::vector<Stepped> calls = stepped_calls();
  const Insides insides(argv + 1);
  void* const shared =
      mmap(nullptr, sizeof(Enough), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  expect(shared != MAP_FAILED, "mmap: %s", std::strerror(errno));
  Enough& enough = *new (shared) Enough{false};
  pin(allowed_cpus().front());  // each step hands over between the two
  const pid_t child = fork();
  expect(child >= 0, "fork: %s", std::strerror(errno));
  if (child == 0) {
    be_stepped(pages, calls, enough, insides);
  }
  if (!WIFSTOPPED(wait_for(child))) {
    skip("no process may be traced here");
  }
  const Tracer tracer(child);
  for (const Page& page : pages) {
    print_steps(tracer, page, calls, enough);
  }
  tracer.expect_end();
  return 0;
}
