// Prints what one clock call costs through std::chrono and through the C functions.
// Usage: chrono CALLS
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

volatile long sink;

template <typename Call>
void cost(const char* name, long calls, Call call) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto begin = Clock::now();
    for (long i = 0; i < calls / 5; ++i) {
      sink = call();
    }
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    best = std::min(best, took.count() / static_cast<double>(calls / 5));
  }
  std::printf("%s\t%.1f\n", name, best);
}

template <typename Clock>
long ticks() {
  return static_cast<long>(Clock::now().time_since_epoch().count());
}

}  // namespace

int main(int argc, char** argv) {
  const long calls = argc > 1 ? std::atol(argv[1]) : 1000;
  cost("steady_clock", calls, ticks<std::chrono::steady_clock>);
  cost("system_clock", calls, ticks<std::chrono::system_clock>);
  cost("gettimeofday", calls, [] {
    timeval now{};
    gettimeofday(&now, nullptr);
    return static_cast<long>(now.tv_usec);
  });
  cost("timespec_get", calls, [] {
    timespec now{};
    timespec_get(&now, TIME_UTC);
    return now.tv_nsec;
  });
  cost("time", calls, [] { return static_cast<long>(time(nullptr)); });
  return 0;
}
