// A simulated hypervisor: the pvclock record and the Hyper-V reference TSC page, how they are
// written, and what they say.
//
// The parameters are a plain struct, so that a reference can be computed from a copy of them, in
// 128 bits and apart from the readers under test. Sources of the layouts: see arch/x86/pvclock.h
// and hvclock.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/x86/clock_mode.h"

namespace vvarclock::test {

struct Hypervisor {
  std::uint64_t tsc_timestamp = 0;  // pvclock
  std::uint64_t system_time = 0;
  std::uint32_t tsc_to_system_mul = 0;
  std::int32_t tsc_shift = 0;
  bool stable = true;
  std::uint64_t tsc_scale = 0;  // Hyper-V
  std::uint64_t tsc_offset = 0;
  std::uint32_t tsc_sequence = 0;
};

// Both clocks for a counter of this frequency, in agreement with time 0 at counter value tsc.
Hypervisor make_hypervisor(std::uint64_t tsc_hz, std::uint64_t tsc) noexcept;

// What the two say: nanoseconds and units of 100 ns.
std::uint64_t pvclock_ns(const Hypervisor& hypervisor, std::uint64_t tsc) noexcept;
std::uint64_t hvclock_units(const Hypervisor& hypervisor, std::uint64_t tsc) noexcept;

// Both start anew at tsc with the rates of tsc_hz, and do not jump there.
void rebase(Hypervisor& hypervisor, std::uint64_t tsc_hz, std::uint64_t tsc) noexcept;

// The writer's side of both protocols. Between begin and end a reader must find no peace.
void begin_hypervisor_update(std::byte* pvclock, std::byte* hvclock) noexcept;
void end_hypervisor_update(Hypervisor& hypervisor, std::byte* pvclock, std::byte* hvclock) noexcept;

}  // namespace vvarclock::test
