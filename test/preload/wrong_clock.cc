// A preload library that is wrong on purpose, so that the whole-process checks can be seen to fail.
//
// VVARCLOCK_TEST_FAULT names the one thing that is wrong; without it every call is the system call
// and right. The list of faults and of the checks that must notice them stands in can_fail_test.sh.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "arch/x86/raw_syscall.h"
#include "arch/x86/rdtsc.h"

namespace {

using vvarclock::arch::raw_clock_getres;
using vvarclock::arch::raw_clock_gettime;

constexpr long kNsPerSec = 1'000'000'000;

std::string_view fault = "none";
bool alive = false;
timespec epoch{};   // REALTIME minus MONOTONIC when the library was loaded
timespec loaded{};  // MONOTONIC when the library was loaded
std::uint64_t reads = 0;
thread_local int reads_of_thread = 0;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool is_fault(std::string_view name) { return fault == name; }

timespec shifted(timespec time, long ns) {
  const long sum = time.tv_nsec + ns;
  const long carry = sum >= 0 ? sum / kNsPerSec : -((kNsPerSec - 1 - sum) / kNsPerSec);
  return {time.tv_sec + carry, sum - carry * kNsPerSec};
}

timespec difference(const timespec& a, const timespec& b) {
  return shifted({a.tv_sec - b.tv_sec, 0}, a.tv_nsec - b.tv_nsec);
}

int from_kernel(long result) {
  if (result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return 0;
}

[[gnu::constructor]] void start() {
  if (const char* const name = getenv("VVARCLOCK_TEST_FAULT")) {
    fault = name;
  }
  alive = true;
  timespec wall{};
  timespec monotonic{};
  raw_clock_gettime(CLOCK_REALTIME, &wall);
  raw_clock_gettime(CLOCK_MONOTONIC, &monotonic);
  epoch = difference(wall, monotonic);
  loaded = monotonic;
  if (is_fault("descriptor")) {
    static_cast<void>(open("/dev/null", O_RDONLY));
  } else if (is_fault("talk")) {
    static_cast<void>(!write(STDERR_FILENO, "hello\n", 6));
  } else if (is_fault("environment")) {
    setenv("WRONG_CLOCK", "1", 1);
  } else if (is_fault("handler")) {
    std::signal(SIGUSR1, SIG_IGN);
  } else if (is_fault("mask")) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
  } else if (is_fault("start-errno")) {
    errno = ENOENT;
  }
}

[[gnu::destructor]] void stop() { alive = false; }

// A wrong value for the faults that lie in the value.
void falsify(clockid_t id, timespec* out) {
  if (is_fault("ahead")) {
    *out = shifted(*out, 100'000);
  } else if (is_fault("behind")) {
    *out = shifted(*out, -100'000);
  } else if (is_fault("rarely-back") && ++reads % 4096 == 0) {
    *out = shifted(*out, -1'000'000);
  } else if (is_fault("namespace-blind") && id == CLOCK_MONOTONIC) {
    raw_clock_gettime(CLOCK_REALTIME, out);
    *out = difference(*out, epoch);
  } else if (is_fault("slow") && id == CLOCK_MONOTONIC) {
    const timespec gone = difference(*out, loaded);
    *out = shifted(*out, -(gone.tv_sec * kNsPerSec + gone.tv_nsec) / 2);
  } else if (is_fault("parent-only")) {
    static const pid_t parent = getpid();
    *out = shifted(*out, getpid() == parent ? 0 : 1'000'000'000);
  }
}

int locked_gettime(clockid_t id, timespec* out) {
  if (pthread_mutex_trylock(&lock) != 0) {
    errno = EDEADLK;
    return -1;
  }
  const int result = from_kernel(raw_clock_gettime(id, out));
  pthread_mutex_unlock(&lock);
  return result;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* out) noexcept {
  if ((is_fault("late") || is_fault("gone")) && !alive) {
    errno = EAGAIN;
    return -1;
  }
  if (is_fault("thread-local")) {
    ++reads_of_thread;
  }
  if (is_fault("counter")) {
    static_cast<void>(vvarclock::arch::UnorderedTsc::read());
  }
  if (is_fault("lock")) {
    return locked_gettime(id, out);
  }
  const int result = from_kernel(raw_clock_gettime(id, out));
  if (result == 0) {
    falsify(id, out);
  }
  if (is_fault("errno")) {
    errno = 0;
  }
  return result;
}

int gettimeofday(timeval* time, void* zone) noexcept {
  return from_kernel(vvarclock::arch::raw_gettimeofday(time, zone));
}

time_t time(time_t* out) noexcept { return vvarclock::arch::raw_time(out); }

int clock_getres(clockid_t id, timespec* out) noexcept {
  const int result = from_kernel(raw_clock_getres(id, out));
  if (result == 0 && out != nullptr && is_fault("resolution")) {
    out->tv_nsec += 1;
  }
  return result;
}

int timespec_get(timespec* out, int base) noexcept {
  if (is_fault("base")) {
    return 1;
  }
  return base == TIME_UTC && raw_clock_gettime(CLOCK_REALTIME, out) == 0 ? base : 0;
}

}  // extern "C"
