// See scenarios.h.
#include "test/preload/soak/scenarios.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <csignal>
#include <thread>
#include <vector>

#include "test/preload/soak/chain.h"
#include "test/support/time_namespace.h"

namespace vvarclock::soak {
namespace {

using process::expect;

constexpr int kBatch = 200;  // chains of one call in a row
constexpr suseconds_t kSignalPeriodUs = 100;
constexpr useconds_t kMovePeriodUs = 100;

Tally* handlers_tally = nullptr;
const process::WallClockWatch* handlers_watch = nullptr;

// A child that ends as soon as its parent does. Its status, when it is not 0, is a loss.
template <class Body>
pid_t begin_child(Body body) {
  const pid_t child = fork();
  expect(child >= 0, "fork: %s", std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    _exit(0);
  }
  return child;
}

void end_child(Tally& tally, pid_t child) {
  const int status = process::wait_for(child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    ++tally.lost;
  }
}

template <class Body>
void run_child(Tally& tally, Body body) {
  end_child(tally, begin_child(body));
}

void join(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void set_timer(suseconds_t period_us) {
  const itimerval period{{0, period_us}, {0, period_us}};
  expect(setitimer(ITIMER_REAL, &period, nullptr) == 0, "setitimer: %s", std::strerror(errno));
}

// One chain for each signal, of one call after the other: where every read is a system call, all of
// them would take longer than the signals' period, and nothing but the handler would ever run.
void on_signal(int) {
  static std::size_t turn = 0;
  const int kept = errno;
  const std::size_t which = turn++ % process::kCalls.size();
  const process::Call& call = process::kCalls[which];
  const std::int64_t before = call.kernel();
  Chain own;
  for (std::int64_t& link : own) {
    link = call.own();
  }
  const std::int64_t after = call.kernel();
  if (!holds(before, own, after)) {
    count_breaks(*handlers_tally, call, before, own, after, *handlers_watch);
  }
  handlers_tally->brackets[which] += kLinks;
  ++handlers_tally->events;
  if (handlers_tally->stop.load(std::memory_order_relaxed)) {
    set_timer(0);
  }
  errno = kept;
}

void read_under_signals(Tally& tally) {
  const process::WallClockWatch watch;
  handlers_tally = &tally;
  handlers_watch = &watch;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  expect(sigaction(SIGALRM, &action, nullptr) == 0, "sigaction: %s", std::strerror(errno));
  set_timer(kSignalPeriodUs);
  read_until_stopped(tally, kBatch);
  set_timer(0);
}

// The longest way back that keeps MONOTONIC and BOOTTIME above zero, and a long way ahead.
process::Offsets far_away(bool back) {
  const std::int64_t up = process::kernel_clock<CLOCK_MONOTONIC>() / process::kNsPerSec;
  const std::int64_t way = up > 100 ? up - 50 : 0;
  return back ? process::Offsets{"back", -way, 0, -way / 2, 999'999'999}
              : process::Offsets{"ahead", 4'000'000'000, 123'456'789, 172'800, 1};
}

// setns exchanges the page under this very process, which has one thread.
void go_in_and_out(Tally& tally, int home, int away) {
  while (!tally.stop.load(std::memory_order_relaxed)) {
    for (const int space : {away, home}) {
      expect(setns(space, CLONE_NEWTIME) == 0, "setns: %s", std::strerror(errno));
      read_all(tally, kBatch / 10);
    }
    ++tally.events;
  }
}

void live_in_namespaces(Tally& tally, bool back) {
  const int home = open("/proc/self/ns/time", O_RDONLY | O_CLOEXEC);
  process::prepare(far_away(back));
  const int away = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
  expect(home >= 0 && away >= 0, "/proc/self/ns: %s", std::strerror(errno));
  const pid_t inside = begin_child([&tally] { read_until_stopped(tally, kBatch); });
  ++tally.events;
  go_in_and_out(tally, home, away);
  end_child(tally, inside);
}

}  // namespace

void pinned(Tally& tally) {
  std::vector<std::thread> threads;
  for (const int cpu : process::allowed_cpus()) {
    threads.emplace_back([&tally, cpu] {
      process::pin(cpu);
      read_until_stopped(tally, kBatch);
    });
  }
  join(threads);
}

void migrating(Tally& tally) {
  const std::vector<int> cpus = process::allowed_cpus();
  std::vector<std::thread> threads;
  std::vector<std::atomic<pid_t>> ids(cpus.size());
  for (std::atomic<pid_t>& id : ids) {
    threads.emplace_back([&tally, &id] {
      id = static_cast<pid_t>(syscall(SYS_gettid));
      read_until_stopped(tally, kBatch);
    });
  }
  for (std::size_t turn = 0; !tally.stop.load(std::memory_order_relaxed); ++turn) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (const pid_t id = ids[i].load(); id != 0) {
        // A thread that has just ended cannot be moved any more.
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<unsigned>(cpus[(turn + i) % cpus.size()]), &set);
        tally.events += sched_setaffinity(id, sizeof set, &set) == 0 ? 1 : 0;
      }
    }
    usleep(kMovePeriodUs);
  }
  join(threads);
}

void signals(Tally& tally) {
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < process::allowed_cpus().size(); ++i) {
    children.push_back(begin_child([&tally] { read_under_signals(tally); }));
  }
  for (const pid_t child : children) {
    end_child(tally, child);
  }
}

void forks(Tally& tally) {
  std::thread reader([&tally] { read_until_stopped(tally, kBatch); });
  while (!tally.stop.load(std::memory_order_relaxed)) {
    run_child(tally, [&tally] {
      read_all(tally, kBatch / 10);
      run_child(tally, [&tally] { read_all(tally, kBatch / 10); });
    });
    tally.events += 2;
  }
  reader.join();
}

void namespaces(Tally& tally) {
  if (!process::can_unshare_time()) {
    tally.skipped = true;
    return;
  }
  const pid_t ahead = begin_child([&tally] { live_in_namespaces(tally, false); });
  run_child(tally, [&tally] { live_in_namespaces(tally, true); });
  end_child(tally, ahead);
}

}  // namespace vvarclock::soak
