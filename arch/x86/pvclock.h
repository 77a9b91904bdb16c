// The pvclock record (pvti) of KVM and Xen: time stamp counter -> nanoseconds of the hypervisor's
// clock.
//
// Layout and protocol: Documentation/virt/kvm/x86/msr.rst (MSR_KVM_SYSTEM_TIME_NEW) and the Xen
// public header vcpu_time_info; since Linux 4.5 a vDSO reads the record of vCPU 0 only, and only
// while the STABLE flag says that every vCPU would compute the same. The page may be touched only
// when the clock mode says pvclock.
//
// Pure: takes the record and a counter. Makes one attempt and never loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "arch/counter.h"
#include "arch/halves.h"
#include "arch/load.h"
#include "arch/wide_multiply.h"

namespace vvarclock::arch::pvclock {

inline constexpr std::size_t kVersion = 0;       // u32, odd while the hypervisor writes
inline constexpr std::size_t kTscTimestamp = 8;  // u64, TSC ticks
inline constexpr std::size_t kSystemTime = 16;   // u64, nanoseconds at tsc_timestamp
inline constexpr std::size_t kTscToSystemMul =
    24;  // u32, nanoseconds per shifted tick as a 0.32 fraction
inline constexpr std::size_t kTscShift = 28;  // s8, left shift of the ticks; negative: right
inline constexpr std::size_t kFlags = 29;     // u8

inline constexpr std::uint8_t kFlagStable = 1U << 0;

// A branch that always goes the same way costs nothing, where a conditional move waits for both its
// inputs. This keeps the compiler from making the one into the other: a read in mode pvclock
// took 24.7 ns with two conditional moves in its chain and 22.8 with branches (lfence; rdtsc
// alone: 17.5).
constexpr void keep_branch() noexcept {
  if (!std::is_constant_evaluated()) {
    asm("");
  }
}

// ticks << shift, cut to 64 bits as the protocol has it; a negative shift goes right. The shift
// comes from memory: hypervisors keep it within -31 .. 31, and any value is safe.
[[nodiscard]] constexpr std::uint64_t shift_ticks(std::uint64_t ticks, int shift) noexcept {
  if (shift < 0) {
    keep_branch();
    ticks >>= static_cast<unsigned>(-shift) & 63U;
  } else {
    keep_branch();
    ticks <<= static_cast<unsigned>(shift) & 63U;
  }
  return ticks;
}

// ((ticks << shift) * mul) >> 32, in nanoseconds.
[[nodiscard]] constexpr std::uint64_t scale_ticks(std::uint64_t ticks, std::uint32_t mul,
                                                  int shift) noexcept {
  return mul_64x32_shift32(shift_ticks(ticks, shift), mul);
}

// system_time + scale_ticks(tsc - tsc_timestamp).
[[nodiscard, gnu::always_inline]] inline std::uint64_t system_time(const std::byte* record,
                                                                   std::uint64_t tsc) noexcept {
  // An unordered read may be older than the record, and CPUs' counters may differ by a few ticks:
  // time stands still then, it does not wrap.
  const std::uint64_t since = tsc - load<std::uint64_t>(record, kTscTimestamp);
  std::uint64_t ticks = since;
  if (static_cast<std::int64_t>(since) < 0) [[unlikely]] {
    ticks = 0;
    keep_branch();
  }
  // Each field is loaded where it is needed, so that no register has to be saved to keep it.
  ticks = shift_ticks(ticks, load<std::int8_t>(record, kTscShift));
  const std::uint64_t since_ns =
      mul_64x32_shift32(ticks, load<std::uint32_t>(record, kTscToSystemMul));
  return load<std::uint64_t>(record, kSystemTime) + since_ns;
}

// The same where a 64-bit number is two registers. Each field is
// read where it is needed, so that few registers do.
[[gnu::always_inline]] inline Halves system_time_by_halves(const std::byte* record,
                                                           Halves tsc) noexcept {
  Halves ticks = minus(tsc, record + kTscTimestamp);
  if (static_cast<std::int32_t>(ticks.high) < 0) [[unlikely]] {
    ticks = {0, 0};
    keep_branch();
  }
  const int shift = load<std::int8_t>(record, kTscShift);
  if (shift < -31 || shift > 31) [[unlikely]] {  // no hypervisor's
    ticks = Halves(shift_ticks(static_cast<std::uint64_t>(ticks), shift));
  } else if (shift < 0) {
    const auto right = static_cast<std::uint32_t>(-shift);
    ticks = {shifted_right(ticks, right), ticks.high >> right};
  } else {
    ticks = shifted_left(ticks, static_cast<std::uint32_t>(shift));
  }
  const auto mul = load<std::uint32_t>(record, kTscToSystemMul);
  const Halves ns(std::uint64_t{ticks.high} * mul);
  return plus(plus(ns, high_half(std::uint64_t{ticks.low} * mul)), record + kSystemTime);
}

// Nanoseconds of the hypervisor's clock. kBusy: the record was being written or changed under us.
// kUnavailable: the STABLE flag is clear, so vCPU 0's record does not hold for the others.
template <Counter C>
[[nodiscard, gnu::always_inline]] inline Cycles read(const std::byte* record) noexcept {
  const auto version = load<std::uint32_t>(record, kVersion);
  const std::uint64_t tsc = C::read();
  const std::uint64_t ns =
      kTwoRegisters ? static_cast<std::uint64_t>(system_time_by_halves(record, Halves(tsc)))
                    : system_time(record, tsc);
  const auto flags = load<std::uint8_t>(record, kFlags);
  // The low bit cleared, an odd version can never compare equal: one test for both.
  if (load<std::uint32_t>(record, kVersion) != (version & ~1U)) [[unlikely]] {
    return {0, Attempt::kBusy};
  }
  if ((flags & kFlagStable) == 0) [[unlikely]] {
    return kInvalidCycles;
  }
  return {ns, Attempt::kDone};
}

}  // namespace vvarclock::arch::pvclock
