// The simulated hypervisor's two clocks.
#include "test/support/hypervisor.h"

#include "arch/int128.h"
#include "arch/load.h"
#include "test/support/page_store.h"
#include "test/support/timekeeper.h"

namespace vvarclock::test {
namespace {

using arch::Uint128;

// Offsets of the record and of the page, spelled out here so that a slip in the readers' own does
// not cancel out.
constexpr std::size_t kPvVersion = 0;
constexpr std::size_t kPvTimestamp = 8;
constexpr std::size_t kPvSystemTime = 16;
constexpr std::size_t kPvMul = 24;
constexpr std::size_t kPvShift = 28;
constexpr std::size_t kPvFlags = 29;
constexpr std::size_t kHvSequence = 0;
constexpr std::size_t kHvScale = 8;
constexpr std::size_t kHvOffset = 16;

void set_rates(Hypervisor& hypervisor, std::uint64_t tsc_hz) noexcept {
  // ns per tick = mul / 2^32 * 2^shift, with the top bit of mul set.
  Uint128 mul = (Uint128{kSecond} << 32) / tsc_hz;
  std::int32_t shift = 0;
  while (mul >> 32 != 0) {
    mul = mul >> 1;
    ++shift;
  }
  while (mul >> 31 == 0) {
    --shift;
    mul = shift < 0 ? (Uint128{kSecond} << static_cast<unsigned>(32 - shift)) / tsc_hz : mul << 1;
  }
  hypervisor.tsc_to_system_mul = static_cast<std::uint32_t>(mul);
  hypervisor.tsc_shift = shift;
  hypervisor.tsc_scale = static_cast<std::uint64_t>((Uint128{10'000'000} << 64) / tsc_hz);
}

}  // namespace

Hypervisor make_hypervisor(std::uint64_t tsc_hz, std::uint64_t tsc) noexcept {
  Hypervisor hypervisor;
  set_rates(hypervisor, tsc_hz);
  hypervisor.tsc_timestamp = tsc;
  hypervisor.tsc_offset -= hvclock_units(hypervisor, tsc);
  return hypervisor;
}

std::uint64_t pvclock_ns(const Hypervisor& h, std::uint64_t tsc) noexcept {
  if (tsc < h.tsc_timestamp) {
    return h.system_time;
  }
  const Uint128 ticks = tsc - h.tsc_timestamp;
  const Uint128 scaled = h.tsc_shift < 0 ? ticks >> static_cast<unsigned>(-h.tsc_shift)
                                         : ticks << static_cast<unsigned>(h.tsc_shift);
  return h.system_time + static_cast<std::uint64_t>((scaled * h.tsc_to_system_mul) >> 32);
}

std::uint64_t hvclock_units(const Hypervisor& h, std::uint64_t tsc) noexcept {
  return static_cast<std::uint64_t>((Uint128{tsc} * h.tsc_scale) >> 64) + h.tsc_offset;
}

void rebase(Hypervisor& hypervisor, std::uint64_t tsc_hz, std::uint64_t tsc) noexcept {
  const std::uint64_t ns = pvclock_ns(hypervisor, tsc);
  const std::uint64_t units = hvclock_units(hypervisor, tsc);
  set_rates(hypervisor, tsc_hz);
  hypervisor.tsc_timestamp = tsc;
  hypervisor.system_time = ns;
  hypervisor.tsc_offset += units - hvclock_units(hypervisor, tsc);
}

void begin_hypervisor_update(std::byte* pvclock, std::byte* hvclock) noexcept {
  store<std::uint32_t>(pvclock, kPvVersion, arch::load<std::uint32_t>(pvclock, kPvVersion) | 1U);
  // Hyper-V has no "being written": the sequence becomes invalid for the while, which sends readers
  // to the system call.
  store<std::uint32_t>(hvclock, kHvSequence, 0);
}

void end_hypervisor_update(Hypervisor& h, std::byte* pvclock, std::byte* hvclock) noexcept {
  store<std::uint64_t>(pvclock, kPvTimestamp, h.tsc_timestamp);
  store<std::uint64_t>(pvclock, kPvSystemTime, h.system_time);
  store<std::uint32_t>(pvclock, kPvMul, h.tsc_to_system_mul);
  store<std::int8_t>(pvclock, kPvShift, static_cast<std::int8_t>(h.tsc_shift));
  store<std::uint8_t>(pvclock, kPvFlags, h.stable ? 1 : 0);
  store<std::uint32_t>(pvclock, kPvVersion, arch::load<std::uint32_t>(pvclock, kPvVersion) + 1);
  h.tsc_sequence = h.tsc_sequence == ~0U ? 1 : h.tsc_sequence + 1;
  store<std::uint64_t>(hvclock, kHvScale, h.tsc_scale);
  store<std::uint64_t>(hvclock, kHvOffset, h.tsc_offset);
  store<std::uint32_t>(hvclock, kHvSequence, h.tsc_sequence);
}

}  // namespace vvarclock::test
