// Inside a real kernel: what one call costs, the library's and the kernel's own from the vDSO.
//
//   guest_prices
//
// For MONOTONIC and MONOTONIC_RAW, with 64-bit seconds: the instructions of one call, counted by
// stepping through it (the trap flag, one SIGTRAP each), the fewest of some calls; and nanoseconds
// per call, the median of rounds that go to and fro between the two. Under an emulator that is
// emulated time: good for comparing the two, and for nothing else. Prints one line for each clock,
// for the harness. Exit status 2: it cannot measure here.
#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <initializer_list>

#include "test/kernels/guest/clocks.h"

namespace guest {
namespace {

using Call = int (*)(clockid_t, void*);
using Time = Pair<std::int64_t>;

constexpr int kSteppedCalls = 25;
constexpr int kRounds = 15;
constexpr int kCallsInRound = 2000;

#ifdef __x86_64__
constexpr char kVdsoName[] = "linux-vdso.so.1";
constexpr char kVdsoFunction[] = "__vdso_clock_gettime";
#else
constexpr char kVdsoName[] = "linux-gate.so.1";
constexpr char kVdsoFunction[] = "__vdso_clock_gettime64";
#endif

// The loader has the vDSO in its list, by the name that it gives itself.
Call kernels_call() noexcept {
  void* const vdso = dlopen(kVdsoName, RTLD_LAZY | RTLD_NOLOAD);
  return vdso == nullptr ? nullptr : reinterpret_cast<Call>(dlsym(vdso, kVdsoFunction));
}

volatile long steps;

// Stepped through, a call may take longer than the time between two updates of the page, and then
// the kernel's reader never comes to its end.
constexpr long kMostSteps = 5'000;
constexpr long kTrapFlag = 0x100;

void count_step(int, siginfo_t*, void* context) {
  steps = steps + 1;
  if (steps >= kMostSteps) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  }
}

// One instruction: what is left of a count without the way to the function and back.
extern "C" int guest_prices_nothing(clockid_t id, void* out);
asm(R"(
    .pushsection .text
    .type guest_prices_nothing, @function
guest_prices_nothing:
    ret
    .size guest_prices_nothing, . - guest_prices_nothing
    .popsection
)");

// The trap flag of this thread. The red zone is kept.
#ifdef __x86_64__
#define CHANGE_FLAGS(change) \
  "lea -128(%%rsp), %%rsp\n\tpushfq\n\t" change ", (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
#else
#define CHANGE_FLAGS(change) "pushfl\n\t" change ", (%%esp)\n\tpopfl"
#endif
[[gnu::always_inline]] inline void set_trap_flag() noexcept {
  asm volatile(CHANGE_FLAGS("orl $0x100") : : : "memory", "cc");
}
[[gnu::always_inline]] inline void clear_trap_flag() noexcept {
  asm volatile(CHANGE_FLAGS("andl $0xfffffeff") : : : "memory", "cc");
}

[[gnu::noinline]] long steps_through(Call call, clockid_t id, Time& out) noexcept {
  steps = 0;
  set_trap_flag();
  call(id, &out);
  clear_trap_flag();
  return steps;
}

// A page that the kernel updates meanwhile lengthens a call, hence the fewest.
long instructions_of(Call call, clockid_t id) noexcept {
  Time out;
  long fewest = 0;
  for (int i = 0; i < kSteppedCalls; ++i) {
    const long all = steps_through(call, id, out);
    const long way = steps_through(guest_prices_nothing, id, out) - 1;
    fewest = i == 0 ? all - way : std::min(fewest, all - way);
    usleep(3'000);
  }
  return fewest;
}

// Nanoseconds for a round of calls.
Nanoseconds time_round(Call call, clockid_t id) noexcept {
  Time out;
  const Nanoseconds start = by_syscall(CLOCK_MONOTONIC_RAW);
  for (int i = 0; i < kCallsInRound; ++i) {
    call(id, &out);
  }
  return by_syscall(CLOCK_MONOTONIC_RAW) - start;
}

double median_ns(std::array<Nanoseconds, kRounds>& rounds) noexcept {
  std::sort(rounds.begin(), rounds.end());
  return static_cast<double>(rounds[kRounds / 2]) / kCallsInRound;
}

void price(Call ours, Call kernels, clockid_t id, const char* name) {
  std::array<Nanoseconds, kRounds> our_rounds{};
  std::array<Nanoseconds, kRounds> kernel_rounds{};
  for (std::size_t i = 0; i < kRounds; ++i) {
    our_rounds[i] = time_round(ours, id);
    kernel_rounds[i] = time_round(kernels, id);
  }
  std::printf(
      "price {\"bits\":%zu,\"order\":\"%s\",\"clock\":\"%s\",\"ours\":{\"instructions\":%ld,"
      "\"ns\":%.1f},\"kernels\":{\"instructions\":%ld,\"ns\":%.1f}}\n",
      sizeof(void*) * 8, order_name(), name, instructions_of(ours, id), median_ns(our_rounds),
      instructions_of(kernels, id), median_ns(kernel_rounds));
  std::fflush(stdout);
}

int run() {
  Result result;
  expect_library(result);
  const Call kernels = kernels_call();
  struct sigaction action {};
  action.sa_sigaction = count_step;
  action.sa_flags = SA_SIGINFO;
  Time out;
  if (result.failures() != 0 || kernels == nullptr || sigaction(SIGTRAP, &action, nullptr) != 0 ||
      steps_through(guest_prices_nothing, CLOCK_MONOTONIC, out) == 0) {
    std::puts("prices: no library, no vDSO, or no way to step");
    return 2;
  }
  price(WideCalls::clock_gettime, kernels, CLOCK_MONOTONIC, "MONOTONIC");
  price(WideCalls::clock_gettime, kernels, CLOCK_MONOTONIC_RAW, "MONOTONIC_RAW");
  return 0;
}

}  // namespace
}  // namespace guest

int main() { return guest::run(); }
