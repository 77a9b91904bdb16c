// The three ways to order a counter read, and what each prevents.
//
// A counter read may execute before loads that precede it in the program. The kernel's vDSO always
// forbids this. Within one thread nobody can tell the difference; between two threads that hand
// time stamps to each other a later stamp can come out smaller when the read is unordered.
#pragma once

#include <cstdint>

namespace vvarclock::arch {

enum class Ordering : std::uint8_t {
  kUnordered,  // rdtsc alone: may execute before earlier loads complete
  kLfence,     // lfence; rdtsc: earlier loads have completed
  kRdtscp,  // rdtscp: earlier loads and instructions have completed; needs the CPU feature of that
            // name
};

constexpr const char* name(Ordering ordering) noexcept {
  switch (ordering) {
    case Ordering::kUnordered:
      return "unordered";
    case Ordering::kLfence:
      return "lfence";
    case Ordering::kRdtscp:
      return "rdtscp";
  }
  return "?";
}

}  // namespace vvarclock::arch
