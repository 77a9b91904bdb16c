// Guards against: a lock, or half-written state, that a signal handler meets inside the call that
// it interrupted.
//
// A timer fires thousands of times while main reads every clock; its handler reads every clock too,
// between two system calls. errno of the interrupted code is not to change through a successful
// call. Argument: signals.
#include <sys/time.h>

#include <atomic>
#include <csignal>

#include "test/support/clock_calls.h"

namespace vvarclock::process {
namespace {

constexpr int kUntouched = 12345;
constexpr suseconds_t kPeriodUs = 150;

std::atomic<long> handled{0};
std::atomic<bool> in_own_call{false};
std::atomic<long> interrupted_a_call{0};
const WallClockWatch* watch = nullptr;

void on_signal(int) {
  errno = kUntouched;
  if (in_own_call.load(std::memory_order_relaxed)) {
    interrupted_a_call.fetch_add(1, std::memory_order_relaxed);
  }
  for (const Call& call : kCalls) {
    const std::int64_t before = call.kernel();
    const std::int64_t own = call.own();
    expect_holds("in a signal handler: ", call, {before, own, call.kernel()}, *watch);
  }
  expect(errno == kUntouched, "in a signal handler: errno became %d", errno);
  handled.fetch_add(1, std::memory_order_relaxed);
}

void start_timer() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  expect(sigaction(SIGALRM, &action, nullptr) == 0, "sigaction: %s", std::strerror(errno));
  const itimerval period{{0, kPeriodUs}, {0, kPeriodUs}};
  expect(setitimer(ITIMER_REAL, &period, nullptr) == 0, "setitimer: %s", std::strerror(errno));
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  begin();
  const long count = repetitions(argc, argv, 3'000, 20'000);
  const WallClockWatch wall_clock;
  watch = &wall_clock;
  start_timer();
  while (handled.load(std::memory_order_relaxed) < count) {
    for (const Call& call : kCalls) {
      in_own_call.store(true, std::memory_order_relaxed);
      std::int64_t last = call.own();
      for (int i = 0; i < 1000; ++i) {
        const std::int64_t now = call.own();
        expect_not_back("under signals: ", call, last, now, wall_clock);
        last = now;
      }
      in_own_call.store(false, std::memory_order_relaxed);
    }
  }
  const itimerval off{};
  setitimer(ITIMER_REAL, &off, nullptr);
  expect(interrupted_a_call.load() > 0,
         "no signal came while a clock call ran, so nothing was shown");
  note("%ld signals, %ld of them while main was reading clocks", handled.load(),
       interrupted_a_call.load());
  return 0;
}
