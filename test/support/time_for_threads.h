// How long a test lets its threads run: a second and a half, or VVARCLOCK_TEST_SECONDS. No verdict
// depends on it.
#pragma once

#include <chrono>
#include <cstdlib>

namespace vvarclock::test {

inline std::chrono::milliseconds time_for_threads() {
  const char* const wanted = std::getenv("VVARCLOCK_TEST_SECONDS");
  const int seconds = wanted == nullptr ? 0 : std::atoi(wanted);
  return seconds > 0 ? std::chrono::seconds(seconds) : std::chrono::milliseconds(1500);
}

}  // namespace vvarclock::test
