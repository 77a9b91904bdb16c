// Reads every clock in several threads, each read between two system calls, while somebody switches
// the clock source.
//
// The rows have no gap: each system call ends one bracket and opens the next, so no value outside
// means no step back either. Argument: seconds to go on for. Run by clocksource_switch.sh.
#include <sys/syscall.h>

#include <atomic>
#include <thread>

#include "test/support/clock_calls.h"

namespace vvarclock::process {
namespace {

constexpr long kReadsInARow = 500;
constexpr int kThreads = 4;

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  begin();
  expect(argc == 2, "usage: clocksource_threads SECONDS");
  const std::int64_t end = kernel_clock<CLOCK_MONOTONIC>() + std::atol(argv[1]) * kNsPerSec;
  std::atomic<long> rows{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&rows, end] {
      while (kernel_clock<CLOCK_MONOTONIC>() < end) {
        expect_all_bracketed("while the clock source changes: ", kReadsInARow);
        rows.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  note("%ld reads of each call in %d threads, none outside", rows.load() * kReadsInARow, kThreads);
  return 0;
}
