// Guards against: time that goes back within one thread, also when the thread moves from CPU to
// CPU.
//
// Holds in every order, the unordered one too. The reader is moved by another thread at times that
// it does not choose, and moves itself as well. Argument: reads per call.
#include <sys/syscall.h>

#include <atomic>
#include <thread>

#include "test/support/clock_calls.h"

namespace vvarclock::process {
namespace {

constexpr long kReadsPerMove = 500;

void expect_forward(const Call& call, long count, const std::vector<int>& cpus) {
  const WallClockWatch watch;
  std::int64_t last = call.own();
  for (long i = 0; i < count; ++i) {
    const std::int64_t now = call.own();
    expect_not_back("in one thread: ", call, last, now, watch);
    last = now;
    if (i % kReadsPerMove == 0) {
      pin(cpus[static_cast<std::size_t>(i / kReadsPerMove) % cpus.size()]);
    }
  }
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  begin();
  const long count = repetitions(argc, argv, 200'000, 2'000'000);
  const std::vector<int> cpus = allowed_cpus();
  const auto reader = static_cast<pid_t>(syscall(SYS_gettid));
  std::atomic<bool> stop{false};
  std::atomic<long> moves{0};
  std::thread mover([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      pin(cpus[static_cast<std::size_t>(moves.fetch_add(1)) % cpus.size()], reader);
      usleep(100);
    }
  });
  for (const Call& call : kCalls) {
    expect_forward(call, count, cpus);
  }
  stop.store(true);
  mover.join();
  note("%ld reads per call over %zu CPUs, moved %ld times from outside: never back", count,
       cpus.size(), moves.load());
  return 0;
}
