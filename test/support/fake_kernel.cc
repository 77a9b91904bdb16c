// The simulated kernel: updates, namespaces and faults. Its memory is in fake_memory.cc.
#include "test/support/fake_kernel.h"

#include <cerrno>
#include <cstring>

#include "arch/load.h"
#include "arch/x86/rdtsc.h"
#include "test/support/page_store.h"
#include "test/support/sim_counter.h"

namespace vvarclock::test {
namespace {

constexpr std::uint64_t kHpetHz = 14'318'180;
constexpr std::uint64_t kHpetMask = 0xffffffff;
constexpr std::uint64_t kWide = ~std::uint64_t{0};
constexpr std::uint64_t kBootSec = 1'790'000'000;

// The kernel switches its clock source while every other CPU is stopped. Here they run on, so the
// writer waits, with seq already odd for all to see, until any counter value that a reader took
// before it saw that is older than the writer's.
constexpr std::uint64_t kSettleCycles = 4000;

std::uint64_t settled_tsc() noexcept {
  asm volatile("mfence" : : : "memory");
  const std::uint64_t begin = arch::LfenceTsc::read();
  std::uint64_t now = begin;
  while (now - begin < kSettleCycles) {
    now = arch::LfenceTsc::read();
  }
  return now;
}

std::uint64_t with_ppm(std::uint64_t value, std::int32_t ppm) noexcept {
  return static_cast<std::uint64_t>(Int128{value} + Int128{value} * ppm / 1'000'000);
}

std::uint64_t first_tsc(const FakeSetup& setup) noexcept {
  if (setup.real_counter) {
    return arch::LfenceTsc::read();
  }
  SimCounter::now = setup.start;
  return setup.start;
}

Snapshot boot_state(const FakeSetup& setup) noexcept {
  Snapshot state;
  state.tsc_hz = setup.tsc_hz;
  state.hypervisor = make_hypervisor(setup.tsc_hz, first_tsc(setup) / 2);
  return state;
}

}  // namespace

ClockSource source_of(arch::ClockMode mode, std::uint64_t tsc_hz) noexcept {
  switch (mode) {
    case arch::kModeTsc:
      return {mode, tsc_hz, kWide};
    case arch::kModePvclock:
      return {mode, 1'000'000'000, kWide};
    case arch::kModeHvclock:
      return {mode, 10'000'000, kWide};
    default:
      return {arch::kModeNone, kHpetHz, kHpetMask};
  }
}

std::uint64_t cycles_of(const Snapshot& snapshot, arch::ClockMode mode,
                        std::uint64_t tsc) noexcept {
  switch (mode) {
    case arch::kModeTsc:
      return tsc;
    case arch::kModePvclock:
      return pvclock_ns(snapshot.hypervisor, tsc);
    case arch::kModeHvclock:
      return hvclock_units(snapshot.hypervisor, tsc);
    default:
      return static_cast<std::uint64_t>(Int128{tsc} * kHpetHz / snapshot.tsc_hz) & kHpetMask;
  }
}

Int128 reference_ns(const Snapshot& snapshot, vvar::ClockId id, std::uint64_t tsc) noexcept {
  const Int128 real =
      time_ns(snapshot.times, id, cycles_of(snapshot, snapshot.times.source.mode, tsc));
  if (!snapshot.in_timens) {
    return real;
  }
  const auto plus = [&](const TimensOffset& offset) {
    return real + Int128{offset.sec} * kSecond + offset.nsec;
  };
  switch (id) {
    case vvar::kMonotonic:
    case vvar::kMonotonicRaw:
    case vvar::kMonotonicCoarse:
      return plus(snapshot.offsets.monotonic);
    case vvar::kBoottime:
      return plus(snapshot.offsets.boottime);
    default:
      return real;
  }
}

FakeKernel::FakeKernel(const vvar::Layout& layout, const FakeSetup& setup)
    : layout_(layout),
      setup_(setup),
      dialect_(dialect_of(layout)),
      state_(boot_state(setup)),
      timekeeper_(source_of(setup.mode, setup.tsc_hz), cycles_of(state_, setup.mode, tsc_now()),
                  kBootSec) {
  timekeeper_.keep_coarse_apart(layout.block == vvar::BlockKind::kV);
  timekeeper_.round_raw(dialect_.whole_raw_ns);
  create_memory();
  give_out_hypervisor_page(setup.mode);
  update_hypervisor(0);
  update([](std::uint64_t) {});
  if (setup.mode == arch::kModeNone && !dialect_.refresh_when_none) {
    use_source(arch::kModeTsc);  // such kernels have had a readable source at boot: what is left of
                                 // it is stale
    use_source(arch::kModeNone);
  }
  SimCounter::step = 0;
  SimCounter::hook = setup.ticking ? &FakeKernel::on_counter_read : nullptr;
}

FakeKernel::~FakeKernel() {
  SimCounter::hook = nullptr;
  destroy_memory();
}

std::uint64_t FakeKernel::tsc_now() const noexcept {
  return setup_.real_counter ? settled_tsc() : SimCounter::now;
}

long FakeKernel::clock_gettime(clockid_t id, arch::Timespec64* out) const noexcept {
  const auto ask = [&](const Snapshot& snapshot) {
    const std::uint64_t tsc = setup_.real_counter ? arch::LfenceTsc::read() : SimCounter::now;
    return reference_ns(snapshot, static_cast<vvar::ClockId>(id), tsc);
  };
  if (!vvar::is_in(static_cast<vvar::ClockId>(id), vvar::kServedIds)) {
    return -EINVAL;
  }
  const Int128 ns = setup_.real_counter ? box_.with(ask) : ask(state_);
  *out = {static_cast<std::int64_t>(ns / kSecond), static_cast<std::int64_t>(ns % kSecond)};
  return 0;
}

// One update of the page, seq odd from before the counter is looked at until everybody may see the
// new state.
template <class F>
void FakeKernel::update(F change) {
  std::byte* const data = writable(Page::kData);
  updating_ = true;
  box_.begin_write();
  begin_update(layout_, data);
  const std::uint64_t tsc = tsc_now();
  change(tsc);
  state_.times = timekeeper_.times();
  write_times(layout_, dialect_, data, state_.times);
  for (const Patch& patch : patches_) {
    for (std::size_t i = 0; i < patch.bytes.size(); ++i) {
      store(data, patch.offset + i, patch.bytes[i]);
    }
  }
  end_update(layout_, data);
  box_.end_write(state_);
  updating_ = false;
  next_tick_ = tsc + setup_.tsc_hz / kTicksPerSecond;
}

void FakeKernel::on_counter_read() {
  FakeKernel& kernel = current();
  if (!kernel.updating_ && SimCounter::now >= kernel.next_tick_) {
    kernel.setup_.interrupt == nullptr ? kernel.tick() : kernel.setup_.interrupt(kernel);
  }
}

void FakeKernel::tick() {
  update([&](std::uint64_t tsc) {
    timekeeper_.tick(cycles_of(state_, state_.times.source.mode, tsc));
  });
}

void FakeKernel::slew(std::int32_t ppm) {
  const auto mult = static_cast<std::uint32_t>(with_ppm(state_.times.raw_mult, ppm));
  update([&](std::uint64_t tsc) {
    timekeeper_.slew(cycles_of(state_, state_.times.source.mode, tsc), mult);
  });
}

void FakeKernel::step(std::int64_t ns) {
  update([&](std::uint64_t tsc) {
    timekeeper_.step(cycles_of(state_, state_.times.source.mode, tsc), ns);
  });
}

void FakeKernel::set_tai_offset(std::int64_t seconds) {
  update([&](std::uint64_t tsc) {
    timekeeper_.set_tai_offset(cycles_of(state_, state_.times.source.mode, tsc), seconds);
  });
}

void FakeKernel::sleep(std::int64_t ns) {
  update([&](std::uint64_t tsc) {
    timekeeper_.forward(cycles_of(state_, state_.times.source.mode, tsc));
    timekeeper_.slept(cycles_of(state_, state_.times.source.mode, tsc), ns);
  });
}

void FakeKernel::use_source(arch::ClockMode mode) {
  give_out_hypervisor_page(mode);
  update([&](std::uint64_t tsc) {
    timekeeper_.change_source(cycles_of(state_, state_.times.source.mode, tsc),
                              source_of(mode, setup_.tsc_hz), cycles_of(state_, mode, tsc));
  });
}

void FakeKernel::update_hypervisor(std::int32_t ppm, bool stable) {
  box_.begin_write();
  begin_hypervisor_update(writable(Page::kPvclock), writable(Page::kHvclock));
  rebase(state_.hypervisor, with_ppm(setup_.tsc_hz, ppm), tsc_now());
  state_.hypervisor.stable = stable;
  end_hypervisor_update(state_.hypervisor, writable(Page::kPvclock), writable(Page::kHvclock));
  box_.end_write(state_);
}

void FakeKernel::set_timezone(std::int32_t minutes_west, std::int32_t dst) {
  timezone_ = {minutes_west, dst};
  write_timezone(layout_, writable(Page::kData), minutes_west, dst);
}

void FakeKernel::advance_ns(std::uint64_t ns) {
  constexpr std::uint64_t kSafeNs = 60 * std::uint64_t{kSecond};
  const auto pass = [&](std::uint64_t part) {
    SimCounter::now += static_cast<std::uint64_t>(Int128{part} * setup_.tsc_hz / kSecond);
  };
  while (state_.times.source.mask != kWide && ns > kSafeNs) {
    pass(kSafeNs);
    tick();
    ns -= kSafeNs;
  }
  pass(ns);
}

void FakeKernel::hold_seq_odd(bool odd) {
  if (odd != updating_) {
    begin_update(layout_, writable(Page::kData));
    updating_ = odd;
  }
}

void FakeKernel::hold_pvclock_odd() {
  begin_hypervisor_update(writable(Page::kPvclock), writable(Page::kHvclock));
}

void FakeKernel::patch(std::size_t offset_in_data, std::span<const std::byte> bytes) {
  patches_.push_back({offset_in_data, {bytes.begin(), bytes.end()}});
  update([](std::uint64_t) {});
}

void FakeKernel::patch_u32(std::size_t offset_in_data, std::uint32_t value) {
  patch(offset_in_data, std::as_bytes(std::span(&value, 1)));
}

void FakeKernel::patch_u64(std::size_t offset_in_data, std::uint64_t value) {
  patch(offset_in_data, std::as_bytes(std::span(&value, 1)));
}

}  // namespace vvarclock::test
