#include "bench/throughput.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <atomic>
#include <vector>

#include "arch/x86/raw_syscall.h"
#include "bench/plan.h"

namespace vvarclock::bench {
namespace {

struct Signals {
  std::atomic<unsigned> ready{0};
  alignas(128) std::atomic<bool> go{false};
  alignas(128) std::atomic<bool> stop{false};
};

// 128 bytes: no thread's numbers share a line with another's, on any machine.
struct alignas(128) Caller {
  Signals* signals;
  const Call* call;
  const Way* way;
  int cpu;  // -1: any
  pthread_t thread;
  double calls;
  double seconds;
};

double cpu_seconds() {
  arch::Timespec64 time{};
  arch::raw_clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void* call_until_stopped(void* argument) {
  constexpr std::uint32_t kBetweenLooks = 100;
  Caller& caller = *static_cast<Caller*>(argument);
  if (caller.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(caller.cpu), &set);
    ::sched_setaffinity(0, sizeof(set), &set);  // failing makes the figure less steady, not wrong
  }
  caller.signals->ready.fetch_add(1);
  while (!caller.signals->go.load()) {
    ::sched_yield();
  }
  double calls = 0;
  const double begin = cpu_seconds();
  while (!caller.signals->stop.load(std::memory_order_relaxed)) {
    run_turns(Shape::kBackToBack, *caller.call, *caller.way, kBetweenLooks);
    calls += kBetweenLooks;
  }
  caller.seconds = cpu_seconds() - begin;
  caller.calls = calls;
  return nullptr;
}

}  // namespace

double calls_per_second(const Crowd& crowd, const Call& call, const Way& way) {
  Signals signals;
  const std::vector<int> cpus = allowed_cpus();
  std::vector<Caller> callers(crowd.threads);
  unsigned started = 0;
  for (Caller& caller : callers) {
    const int cpu = started < cpus.size() ? cpus[started] : -1;
    caller = {&signals, &call, &way, cpu, {}, 0, 1};
    if (::pthread_create(&caller.thread, nullptr, &call_until_stopped, &caller) != 0) {
      break;
    }
    ++started;
  }
  while (signals.ready.load() < started) {
    ::sched_yield();
  }
  signals.go.store(true);
  const timespec pause{0, static_cast<long>(crowd.ns)};
  ::nanosleep(&pause, nullptr);
  signals.stop.store(true);
  double sum = 0;
  for (unsigned i = 0; i < started; ++i) {
    ::pthread_join(callers[i].thread, nullptr);
    sum += callers[i].calls / callers[i].seconds;
  }
  return started == crowd.threads ? sum : 0;
}

}  // namespace vvarclock::bench
