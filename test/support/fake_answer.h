// What a simulated kernel answers, in a form that a failed check prints.
#pragma once

#include <cstdint>
#include <ostream>

#include "test/support/catch.h"
#include "test/support/fake_kernel.h"

namespace vvarclock::test {

struct Time {
  std::int64_t sec;
  std::int64_t nsec;
  bool operator==(const Time&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Time& time) {
  return out << time.sec << " s " << time.nsec << " ns";
}

inline Time ask(const FakeKernel& kernel, vvar::ClockId id) {
  arch::Timespec64 answer{};
  REQUIRE(kernel.clock_gettime(static_cast<clockid_t>(id), &answer) == 0);
  return {answer.tv_sec, answer.tv_nsec};
}

// One cycle is one nanosecond: mult 2^23, shift 23.
inline FakeSetup one_gigahertz() { return {.tsc_hz = 1'000'000'000}; }

}  // namespace vvarclock::test
