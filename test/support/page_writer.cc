// Writing vvar pages by layout.
#include "test/support/page_writer.h"

#include "arch/load.h"
#include "test/support/page_store.h"

namespace vvarclock::test {
namespace {

constexpr arch::ClockMode kModeHpet = 2;  // 3.10 - 4.6
constexpr std::uint32_t kAuxBlocks =
    8;  // behind the two blocks, in layouts whose code knows their ids
constexpr std::uint8_t kHighestAuxId = 23;

std::size_t block_count(const vvar::BlockLayout& b) noexcept { return b.has_raw_block() ? 2 : 1; }

std::byte* block_at(const vvar::BlockLayout& b, std::byte* data, std::size_t number) noexcept {
  return data + number * b.stride;
}

void bump_seq(const vvar::Layout& layout, std::byte* data) noexcept {
  const vvar::BlockLayout& b = vvar::block_layout(layout.block);
  for (std::size_t number = 0; number < block_count(b); ++number) {
    std::byte* const block = block_at(b, data, number);
    store<std::uint32_t>(block, b.seq, arch::load<std::uint32_t>(block, b.seq) + 1);
  }
}

// sec and snsec are stored as the kernel does: the nanoseconds below one second, shifted.
void write_slot(const vvar::BlockLayout& b, std::byte* block, vvar::ClockId id, std::uint64_t sec,
                std::uint64_t nsec, std::uint64_t second) noexcept {
  if (!vvar::is_in(id, b.ids)) {
    return;  // this generation's page has no such clock
  }
  while (nsec >= second) {
    nsec -= second;
    ++sec;
  }
  if (b.narrow) {
    store<std::uint32_t>(block, b.sec(id), static_cast<std::uint32_t>(sec));
  } else {
    store<std::uint64_t>(block, b.sec(id), sec);
  }
  if (b.narrow && vvar::is_in(id, vvar::kCoarseIds)) {
    store<std::uint32_t>(block, b.nsec(id), static_cast<std::uint32_t>(nsec));
  } else {
    store<std::uint64_t>(block, b.nsec(id), nsec);
  }
}

void write_header(const vvar::BlockLayout& b, std::byte* block, const Times& t,
                  std::uint32_t mult) noexcept {
  store<std::uint64_t>(block, b.cycle_last, t.cycle_last);
  store<std::uint64_t>(block, b.mask, t.source.mask);
  store<std::uint32_t>(block, b.mult, mult);
  store<std::uint32_t>(block, b.shift, t.shift);
  if (b.max_cycles != 0) {
    store<std::uint64_t>(block, b.max_cycles, expected_max_cycles(t.raw_mult));
  }
}

void write_hres(const vvar::BlockLayout& b, std::byte* data, const Times& t) noexcept {
  const auto second = std::uint64_t{kSecond} << t.shift;
  const auto shifted = [&](std::int64_t ns) { return static_cast<std::uint64_t>(ns) << t.shift; };
  const std::uint64_t monotonic_sec = t.sec + static_cast<std::uint64_t>(t.to_monotonic_sec);
  const std::uint64_t monotonic_snsec = t.snsec + shifted(t.to_monotonic_nsec);
  write_header(b, data, t, t.mult);
  if (b.has_raw_block()) {
    write_header(b, block_at(b, data, 1), t, t.raw_mult);
  }
  write_slot(b, data, vvar::kMonotonic, monotonic_sec, monotonic_snsec, second);
  write_slot(b, data, vvar::kBoottime,
             monotonic_sec + static_cast<std::uint64_t>(t.slept_ns / kSecond),
             monotonic_snsec + shifted(t.slept_ns % kSecond), second);
  write_slot(b, data, vvar::kTai, t.sec + static_cast<std::uint64_t>(t.tai_offset), t.snsec,
             second);
  write_slot(b, block_at(b, data, 1), vvar::kMonotonicRaw, t.raw_sec, t.raw_snsec, second);
}

void mark_timens(const vvar::BlockLayout& b, const Dialect& dialect, std::byte* block) noexcept {
  store<std::uint32_t>(block, b.seq, 1);
  store<arch::ClockMode>(block, b.mode, dialect.timens_mark);
}

}  // namespace

Dialect dialect_of(const vvar::Layout& layout) noexcept {
  const bool generic = vvar::block_layout(layout.block).is_generic();
  return {.refresh_when_none = layout.timens == vvar::kNoPage,
          .timens_mark = arch::kModeTimens,
          .hpet_mode = layout.hpet,
          .whole_raw_ns = !generic && layout.hvclock == vvar::kNoPage};
}

// By era and not by the layout's own table of modes, which the tests are to hold against this.
arch::ClockMode page_mode(const Dialect& dialect, arch::ClockMode mode) noexcept {
  if (!dialect.hpet_mode) {
    return mode;
  }
  constexpr arch::ClockMode kPvclockUntil46 = 3;
  return mode == arch::kModeNone ? kModeHpet : mode == arch::kModePvclock ? kPvclockUntil46 : mode;
}

void begin_update(const vvar::Layout& layout, std::byte* data) noexcept { bump_seq(layout, data); }
void end_update(const vvar::Layout& layout, std::byte* data) noexcept { bump_seq(layout, data); }

void write_times(const vvar::Layout& layout, const Dialect& dialect, std::byte* data,
                 const Times& t) noexcept {
  const vvar::BlockLayout& b = vvar::block_layout(layout.block);
  for (std::size_t number = 0; number < block_count(b); ++number) {
    store<arch::ClockMode>(block_at(b, data, number), b.mode, page_mode(dialect, t.source.mode));
  }
  write_slot(b, data, vvar::kRealtime, t.sec, t.snsec, std::uint64_t{kSecond} << t.shift);
  write_slot(b, data, vvar::kRealtimeCoarse, t.sec, t.coarse_nsec, std::uint64_t{kSecond});
  write_slot(
      b, data, vvar::kMonotonicCoarse, t.sec + static_cast<std::uint64_t>(t.to_monotonic_sec),
      t.coarse_nsec + static_cast<std::uint64_t>(t.to_monotonic_nsec), std::uint64_t{kSecond});
  if (layout.hrtimer_res != 0) {
    store<std::uint32_t>(data, layout.hrtimer_res, 1);
  }
  if (t.source.mode != arch::kModeNone || dialect.refresh_when_none) {
    write_hres(b, data, t);
  }
}

void write_timens_page(const vvar::Layout& layout, const Dialect& dialect, std::byte* data,
                       const TimensOffsets& offsets) noexcept {
  const vvar::BlockLayout& b = vvar::block_layout(layout.block);
  for (std::size_t number = 0; number < block_count(b); ++number) {
    std::byte* const block = block_at(b, data, number);
    mark_timens(b, dialect, block);
    const auto put = [&](vvar::ClockId id, const TimensOffset& offset) {
      store<std::int64_t>(block, b.sec(id), offset.sec);
      store<std::int64_t>(block, b.nsec(id), offset.nsec);
    };
    put(vvar::kMonotonic, offsets.monotonic);
    put(vvar::kMonotonicRaw, offsets.monotonic);
    put(vvar::kMonotonicCoarse, offsets.monotonic);
    put(vvar::kBoottime, offsets.boottime);
    put(9, offsets.boottime);  // the alarm clock of the same name
  }
  if (layout.highest_id == kHighestAuxId) {
    for (std::size_t i = 0; i < kAuxBlocks; ++i) {
      mark_timens(b, dialect, block_at(b, data, block_count(b) + i));
    }
  }
}

void write_timezone(const vvar::Layout& layout, std::byte* data, std::int32_t minutes_west,
                    std::int32_t dst) noexcept {
  store<std::int32_t>(data, layout.timezone, minutes_west);
  store<std::int32_t>(data, layout.timezone + 4U, dst);
}

}  // namespace vvarclock::test
