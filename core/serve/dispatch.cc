// The page readers behind the exported names: one instantiation per block kind and counter.
#include "core/serve/dispatch.h"

#include <sys/mman.h>

#include "arch/x86/rdtsc.h"
#include "core/serve/raw_reader.h"
#include "core/serve/result.h"
#include "core/vvar/read_clock.h"

namespace vvarclock::serve {

constinit Dispatch dispatch;

static_assert(sizeof(Dispatch) == 4096, "the table has a page of its own");
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
template <const BlockLayout& B, arch::Counter C, AnyTimespec T>
[[gnu::noinline, gnu::cold]] int rest_of_clock_gettime(clockid_t id, T* out) noexcept {
  SecNsec time{};
  if (vvar::read_clock<B, C>(dispatch.binding, static_cast<ClockId>(id), time)) {
    return store(out, time) ? 0 : fallback::overflow();
  }
  return fallback::clock_gettime(id, out);
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M, AnyTimespec T>
[[gnu::noinline]] int raw_clock_gettime(T* out) noexcept {
  const vvar::Binding& binding = dispatch.binding;
  if constexpr (B.has_raw_block()) {
    HotTime time;
    if (vvar::read_hres<B, C, vvar::Path::kHot, M>(binding.data + B.stride, vvar::kMonotonicRaw,
                                                   binding.counters, time) == Attempt::kDone &&
        store(out, time)) [[likely]] {
      return 0;
    }
    return rest_of_clock_gettime<B, C>(CLOCK_MONOTONIC_RAW, out);
  } else {
    SecNsec time;
    // By the line, where the page has no record of it.
    if (read_raw_at_once<B, C>(binding, time) || read_raw_or_ask<B>(binding, time)) [[likely]] {
      return store(out, time) ? 0 : fallback::overflow();
    }
    return fallback::clock_gettime(CLOCK_MONOTONIC_RAW, out);
  }
}

// Each family ends by itself, so that each is a straight line; the coarse clocks are so cheap that
// a taken branch more is a tenth of the call, and come before the raw one.
template <const BlockLayout& B, arch::Counter C, arch::ClockMode M, AnyTimespec T>
int clock_gettime(clockid_t id, T* out) noexcept {
  const vvar::Binding& binding = dispatch.binding;
  const auto clock = static_cast<ClockId>(id);
  HotTime time;
  if (vvar::is_in(clock, vvar::kHresIds & B.ids)) [[likely]] {
    if (vvar::read_hres<B, C, vvar::Path::kHot, M>(binding.data, clock, binding.counters, time) ==
            Attempt::kDone &&
        store(out, time)) [[likely]] {
      return 0;
    }
    return rest_of_clock_gettime<B, C>(id, out);
  }
  if (vvar::is_in(clock, vvar::kCoarseIds)) [[likely]] {
    if (vvar::read_coarse<B>(binding.data, clock, time) == Attempt::kDone && store(out, time))
        [[likely]] {
      return 0;
    }
    return rest_of_clock_gettime<B, C>(id, out);
  }
  if (clock == vvar::kMonotonicRaw) {
    return raw_clock_gettime<B, C, M>(out);
  }
  return fallback::clock_gettime(id, out);  // not of the page
}

template <const BlockLayout& B, arch::Counter C>
[[gnu::noinline, gnu::cold]] int rest_of_gettimeofday(timeval* out, void* zone) noexcept {
  SecNsec time{};
  if (out != nullptr) {
    if (!vvar::read_clock<B, C>(dispatch.binding, vvar::kRealtime, time)) {
      return fallback::gettimeofday(out, zone);
    }
    if (!store(out, time)) {
      return fallback::overflow();
    }
  }
  if (zone != nullptr) {
    vvar::Timezone found{};
    if (!vvar::read_timezone<B>(dispatch.binding, found)) {
      return fallback::gettimeofday(static_cast<timeval*>(nullptr), zone);
    }
    struct timezone* const target = static_cast<struct timezone*>(zone);
    target->tz_minuteswest = found.minutes_west;
    target->tz_dsttime = found.dst_type;
  }
  return 0;
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M>
int gettimeofday(timeval* out, void* zone) noexcept {
  HotTime time;
  if (out != nullptr && zone == nullptr && read_at_once<B, C, M>(vvar::kRealtime, time) &&
      store(out, time)) [[likely]] {
    return 0;
  }
  return rest_of_gettimeofday<B, C>(out, zone);
}

#ifndef __x86_64__
template <const BlockLayout& B, arch::Counter C>
[[gnu::noinline, gnu::cold]] int rest_of_gettimeofday64(arch::Timeval64* out) noexcept {
  SecNsec time{};
  if (!vvar::read_clock<B, C>(dispatch.binding, vvar::kRealtime, time)) {
    return fallback::gettimeofday(out, nullptr);
  }
  return store(out, time) ? 0 : fallback::overflow();
}

// For callers of this width glibc fills the zone with zeros.
template <const BlockLayout& B, arch::Counter C, arch::ClockMode M>
int gettimeofday64(arch::Timeval64* out, void* zone) noexcept {
  if (zone != nullptr) {
    *static_cast<struct timezone*>(zone) = {};
  }
  if (out == nullptr) {
    return 0;
  }
  HotTime time;
  if (read_at_once<B, C, M>(vvar::kRealtime, time) && store(out, time)) [[likely]] {
    return 0;
  }
  return rest_of_gettimeofday64<B, C>(out);
}
#endif

// Sec: time_t, or 64 bits in any case.
template <const BlockLayout& B, class Sec>
Sec time(Sec* out) noexcept {
  std::uint64_t sec;
  if (!vvar::read_time<B>(dispatch.binding, sec)) [[unlikely]] {
    return fallback::time(out);
  }
  if (!fits<Sec>(sec)) [[unlikely]] {
    return fallback::overflow();
  }
  if (out != nullptr) {
    *out = static_cast<Sec>(sec);
  }
  return static_cast<Sec>(sec);
}

template <const BlockLayout& B, arch::Counter C, AnyTimespec T>
[[gnu::noinline, gnu::cold]] int rest_of_timespec_get(T* out, int base) noexcept {
  const clockid_t id = fallback::clock_of_base(base);
  return id >= 0 && rest_of_clock_gettime<B, C>(id, out) == 0 ? base : 0;
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M, AnyTimespec T>
int timespec_get(T* out, int base) noexcept {
  HotTime time;
  if (base == TIME_UTC && read_at_once<B, C, M>(vvar::kRealtime, time) && store(out, time))
      [[likely]] {
    return base;
  }
  return rest_of_timespec_get<B, C>(out, base);
}

template <const BlockLayout& B, AnyTimespec T>
int clock_getres(clockid_t id, T* out) noexcept {
  std::uint32_t ns;
  if (!vvar::read_resolution<B>(dispatch.binding, static_cast<ClockId>(id), ns)) [[unlikely]] {
    return fallback::clock_getres(id, out);
  }
  return out == nullptr || store(out, SecNsec{0, ns}) ? 0 : fallback::overflow();
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M>
constexpr Functions functions() noexcept {
  return {
      &clock_gettime<B, C, M, timespec>,
      &gettimeofday<B, C, M>,
      &time<B, time_t>,
      &timespec_get<B, C, M, timespec>,
      &clock_getres<B, timespec>,
#ifndef __x86_64__
      &clock_gettime<B, C, M, arch::Timespec64>,
      &gettimeofday64<B, C, M>,
      &time<B, std::int64_t>,
      &timespec_get<B, C, M, arch::Timespec64>,
      &clock_getres<B, arch::Timespec64>,
#endif
  };
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
  // The binding is complete before any reader can be called: release here, acquire at the call.
  dispatch.clock_gettime.store(functions.clock_gettime, std::memory_order_release);
  dispatch.gettimeofday.store(functions.gettimeofday, std::memory_order_release);
  dispatch.time.store(functions.time, std::memory_order_release);
  dispatch.timespec_get.store(functions.timespec_get, std::memory_order_release);
  dispatch.clock_getres.store(functions.clock_getres, std::memory_order_release);
#ifndef __x86_64__
  dispatch.clock_gettime64.store(functions.clock_gettime64, std::memory_order_release);
  dispatch.gettimeofday64.store(functions.gettimeofday64, std::memory_order_release);
  dispatch.time64.store(functions.time64, std::memory_order_release);
  dispatch.timespec_get64.store(functions.timespec_get64, std::memory_order_release);
  dispatch.clock_getres64.store(functions.clock_getres64, std::memory_order_release);
#endif
  dispatch.seq.store(binding.data + block.seq, std::memory_order_release);
  ::mprotect(&dispatch, sizeof(dispatch),
             PROT_READ);  // a stray write in the host cannot bend its clocks; failing is harmless
}

}  // namespace vvarclock::serve
