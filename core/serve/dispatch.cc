// The page readers behind the exported names: one instantiation per block kind and counter.
#include "core/serve/dispatch.h"

#include <sys/mman.h>

#include <utility>

#include "arch/x86/rdtsc.h"
#include "core/serve/raw_reader.h"
#include "core/serve/result.h"
#include "core/vvar/read_clock.h"

namespace vvarclock::serve {

constinit Dispatch dispatch;

static_assert(sizeof(Dispatch) == arch::kPageSize, "the table has a page of its own");
static_assert(offsetof(Dispatch, seq) + sizeof(void*) <= 128,
              "what calls read is on the first 128 bytes");

namespace {

using vvar::Attempt;
using vvar::BlockLayout;
using vvar::ClockId;
using vvar::HotTime;
using vvar::SecNsec;

// The usual case: one attempt in a straight line.
template <const BlockLayout& B, arch::Counter C, arch::ClockMode M>
[[gnu::always_inline]] inline bool read_at_once(ClockId id, HotTime& time) noexcept {
  const vvar::Binding& binding = dispatch.binding;
  return vvar::read_clock_once<B, C, vvar::Path::kHot, M>(binding.data, binding.counters, id,
                                                          time) == Attempt::kDone;
}

// The rest of clock_gettime: a writer at work, time namespaces, large deltas, every other mode than
// the reader's own, those that are the kernel's, and seconds that do not fit.
template <const BlockLayout& B, arch::Counter C, class W>
[[gnu::noinline, gnu::cold]] int rest_of_clock_gettime(clockid_t id,
                                                       typename W::Timespec* out) noexcept {
  SecNsec time{};
  if (vvar::read_clock<B, C>(dispatch.binding, static_cast<ClockId>(id), time)) {
    return store(out, time) ? 0 : fallback::overflow();
  }
  return fallback::For<W>::clock_gettime(id, out);
}

// The rest of CLOCK_MONOTONIC_RAW where the page has no record of it.
template <const BlockLayout& B, class W>
[[gnu::noinline, gnu::cold]] int rest_of_raw_clock(typename W::Timespec* out) noexcept {
  SecNsec time;
  if (read_raw_or_ask<B>(dispatch.binding, time)) {
    return store(out, time) ? 0 : fallback::overflow();
  }
  return fallback::For<W>::clock_gettime(CLOCK_MONOTONIC_RAW, out);
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M, class W>
[[gnu::noinline]] int raw_clock_gettime(typename W::Timespec* out) noexcept {
  const vvar::Binding& binding = dispatch.binding;
  if constexpr (B.has_raw_block()) {
    HotTime time;
    if (vvar::read_hres<B, C, vvar::Path::kHot, M>(binding.data + B.stride, vvar::kMonotonicRaw,
                                                   binding.counters, time) == Attempt::kDone &&
        store(out, time)) [[likely]] {
      return 0;
    }
    return rest_of_clock_gettime<B, C, W>(CLOCK_MONOTONIC_RAW, out);
  } else {
    HotTime time;
    if (read_raw_at_once<B, C, M>(binding, time) && store(out, time)) [[likely]] {
      return 0;
    }
    return rest_of_raw_clock<B, W>(out);
  }
}

// Each family ends by itself, so that each is a straight line; the coarse clocks are so cheap that
// a taken branch more is a tenth of the call, and come before the raw one.
template <const BlockLayout& B, arch::Counter C, arch::ClockMode M, class W>
int clock_gettime(clockid_t id, typename W::Timespec* out) noexcept {
  const vvar::Binding& binding = dispatch.binding;
  const auto clock = static_cast<ClockId>(id);
  HotTime time;
  if (vvar::is_in(clock, vvar::kHresIds & B.ids)) [[likely]] {
    if (vvar::read_hres<B, C, vvar::Path::kHot, M>(binding.data, clock, binding.counters, time) ==
            Attempt::kDone &&
        store(out, time)) [[likely]] {
      return 0;
    }
    return rest_of_clock_gettime<B, C, W>(id, out);
  }
  if (vvar::is_in(clock, vvar::kCoarseIds)) [[likely]] {
    if (vvar::read_coarse<B>(binding.data, clock, time) == Attempt::kDone && store(out, time))
        [[likely]] {
      return 0;
    }
    return rest_of_clock_gettime<B, C, W>(id, out);
  }
  if (clock == vvar::kMonotonicRaw) {
    return raw_clock_gettime<B, C, M, W>(out);
  }
  return fallback::For<W>::clock_gettime(id, out);  // not of the page
}

template <const BlockLayout& B, arch::Counter C, class W>
[[gnu::noinline, gnu::cold]] int rest_of_gettimeofday(typename W::Timeval* out,
                                                      void* zone) noexcept {
  SecNsec time{};
  if (out != nullptr) {
    if (!vvar::read_clock<B, C>(dispatch.binding, vvar::kRealtime, time)) {
      return fallback::For<W>::gettimeofday(out, zone);
    }
    if (!store(out, time)) {
      return fallback::overflow();
    }
  }
  if (zone != nullptr) {
    vvar::Timezone found{};
    if (!vvar::read_timezone<B>(dispatch.binding, found)) {
      return fallback::For<W>::gettimeofday(nullptr, zone);
    }
    struct timezone* const target = static_cast<struct timezone*>(zone);
    target->tz_minuteswest = found.minutes_west;
    target->tz_dsttime = found.dst_type;
  }
  return 0;
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M, class W>
int gettimeofday(typename W::Timeval* out, void* zone) noexcept {
  if constexpr (std::same_as<W, WideWidth>) {
    clear_zone(std::exchange(zone, nullptr));
  }
  HotTime time;
  if (out != nullptr && zone == nullptr && read_at_once<B, C, M>(vvar::kRealtime, time) &&
      store(out, time)) [[likely]] {
    return 0;
  }
  return rest_of_gettimeofday<B, C, W>(out, zone);
}

template <const BlockLayout& B, class W>
typename W::Sec time(typename W::Sec* out) noexcept {
  using Sec = typename W::Sec;
  std::uint64_t sec;
  if (!vvar::read_time<B>(dispatch.binding, sec)) [[unlikely]] {
    return fallback::For<W>::time(out);
  }
  if (!fits<Sec>(sec)) [[unlikely]] {
    return fallback::overflow();
  }
  if (out != nullptr) {
    *out = static_cast<Sec>(sec);
  }
  return static_cast<Sec>(sec);
}

template <const BlockLayout& B, arch::Counter C, class W>
[[gnu::noinline, gnu::cold]] int rest_of_timespec_get(typename W::Timespec* out,
                                                      int base) noexcept {
  const clockid_t id = fallback::clock_of_base(base);
  return id >= 0 && rest_of_clock_gettime<B, C, W>(id, out) == 0 ? base : 0;
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M, class W>
int timespec_get(typename W::Timespec* out, int base) noexcept {
  HotTime time;
  if (base == TIME_UTC && read_at_once<B, C, M>(vvar::kRealtime, time) && store(out, time))
      [[likely]] {
    return base;
  }
  return rest_of_timespec_get<B, C, W>(out, base);
}

template <const BlockLayout& B, class W>
int clock_getres(clockid_t id, typename W::Timespec* out) noexcept {
  std::uint32_t ns;
  if (!vvar::read_resolution<B>(dispatch.binding, static_cast<ClockId>(id), ns)) [[unlikely]] {
    return fallback::For<W>::clock_getres(id, out);
  }
  return out == nullptr || store(out, SecNsec{0, ns}) ? 0 : fallback::overflow();
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M, class W>
inline constexpr Calls<Plain, W> kReaders{&clock_gettime<B, C, M, W>, &gettimeofday<B, C, M, W>,
                                          &time<B, W>, &timespec_get<B, C, M, W>,
                                          &clock_getres<B, W>};

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M>
constexpr Functions functions() noexcept {
  if constexpr (kTwoWidths) {
    return {kReaders<B, C, M, OwnWidth>, kReaders<B, C, M, WideWidth>};
  } else {
    return {kReaders<B, C, M, OwnWidth>, {}};
  }
}

template <const BlockLayout& B, arch::Counter C>
Functions functions(arch::ClockMode mode) noexcept {
  switch (mode) {
    case arch::kModePvclock:
      return functions<B, C, arch::kModePvclock>();
    case arch::kModeHvclock:
      return functions<B, C, arch::kModeHvclock>();
    default:
      return functions<B, C, arch::kModeTsc>();
  }
}

template <const BlockLayout& B>
Functions functions(const Wanted& wanted) noexcept {
  if (!wanted.counter_allowed) {
    return functions<B, arch::ForbiddenCounter, arch::kModeTsc>();
  }
  switch (wanted.ordering) {
    case arch::Ordering::kUnordered:
      return functions<B, arch::UnorderedTsc>(wanted.mode);
    case arch::Ordering::kRdtscp:
      return functions<B, arch::RdtscpTsc>(wanted.mode);
    case arch::Ordering::kLfence:
      break;
  }
  return functions<B, arch::LfenceTsc>(wanted.mode);
}

// The binding is complete before any reader can be called: release here, acquire at the call.
template <class W>
void put(Calls<std::atomic, W>& table, const Calls<Plain, W>& functions) noexcept {
  table.clock_gettime.store(functions.clock_gettime, std::memory_order_release);
  table.gettimeofday.store(functions.gettimeofday, std::memory_order_release);
  table.time.store(functions.time, std::memory_order_release);
  table.timespec_get.store(functions.timespec_get, std::memory_order_release);
  table.clock_getres.store(functions.clock_getres, std::memory_order_release);
}

inline void put(NoCalls& /*table*/, const NoCalls& /*functions*/) noexcept {}

}  // namespace

Functions page_readers(vvar::BlockKind kind, const Wanted& wanted) noexcept {
  return vvar::with_own_block(kind, [&]<const BlockLayout & B>() { return functions<B>(wanted); });
}

arch::ClockMode mode_to_want(const vvar::Binding& binding, arch::ClockMode now) noexcept {
  const bool has_page = now == arch::kModePvclock   ? binding.counters.pvclock != nullptr
                        : now == arch::kModeHvclock ? binding.counters.hvclock != nullptr
                                                    : false;
  return has_page ? now : arch::kModeTsc;
}

void attach(const vvar::Binding& binding, vvar::BlockKind kind,
            const Functions& functions) noexcept {
  const BlockLayout& block = vvar::block_layout(kind);
  dispatch.binding = binding;
  dispatch.realtime_sec = binding.data + block.sec(vvar::kRealtime);
  put(dispatch.calls.own, functions.own);
  put(dispatch.calls.wide, functions.wide);
  dispatch.seq.store(binding.data + block.seq, std::memory_order_release);
  ::mprotect(&dispatch, sizeof(dispatch),
             PROT_READ);  // a stray write in the host cannot bend its clocks; failing is harmless
}

}  // namespace vvarclock::serve
