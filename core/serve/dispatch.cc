// The page readers behind the exported names: one instantiation per block kind and counter.
#include "core/serve/dispatch.h"

#include <sys/mman.h>

#include "arch/x86/rdtsc.h"
#include "core/serve/raw_reader.h"
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
using vvar::SecNsec;

void store(timespec* out, const SecNsec& time) noexcept {
  out->tv_sec = static_cast<time_t>(time.sec);
  out->tv_nsec = static_cast<long>(time.nsec);
}

void store(timeval* out, const SecNsec& time) noexcept {
  out->tv_sec = static_cast<time_t>(time.sec);
  out->tv_usec = static_cast<suseconds_t>(static_cast<std::uint32_t>(time.nsec) / 1000);
}

// The usual case: one attempt in a straight line.
template <const BlockLayout& B, arch::Counter C, arch::ClockMode M>
[[gnu::always_inline]] inline bool read_at_once(ClockId id, SecNsec& time) noexcept {
  const vvar::Binding& binding = dispatch.binding;
  return vvar::read_clock_once<B, C, vvar::Path::kHot, M>(binding.data, binding.counters, id,
                                                          time) == Attempt::kDone;
}

// The rest of clock_gettime: a writer at work, time namespaces, large deltas, every other mode than
// the reader's own, and those that are the kernel's.
template <const BlockLayout& B, arch::Counter C>
[[gnu::noinline, gnu::cold]] int rest_of_clock_gettime(clockid_t id, timespec* out) noexcept {
  SecNsec time{};
  if (vvar::read_clock<B, C>(dispatch.binding, static_cast<ClockId>(id), time)) {
    store(out, time);
    return 0;
  }
  return fallback::clock_gettime(id, out);
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M>
[[gnu::noinline]] int raw_clock_gettime(timespec* out) noexcept {
  const vvar::Binding& binding = dispatch.binding;
  SecNsec time;
  if constexpr (B.has_raw_block()) {
    if (vvar::read_hres<B, C, vvar::Path::kHot, M>(binding.data + B.stride, vvar::kMonotonicRaw,
                                                   binding.counters, time) == Attempt::kDone)
        [[likely]] {
      store(out, time);
      return 0;
    }
    return rest_of_clock_gettime<B, C>(CLOCK_MONOTONIC_RAW, out);
  } else {
    // By the line, where the page has no record of it.
    if (read_raw_at_once<B, C>(binding, time) || read_raw_or_ask<B>(binding, time)) [[likely]] {
      store(out, time);
      return 0;
    }
    return fallback::clock_gettime(CLOCK_MONOTONIC_RAW, out);
  }
}

// Each family ends by itself, so that each is a straight line; the coarse clocks are so cheap that
// a taken branch more is a tenth of the call, and come before the raw one.
template <const BlockLayout& B, arch::Counter C, arch::ClockMode M>
int clock_gettime(clockid_t id, timespec* out) noexcept {
  const vvar::Binding& binding = dispatch.binding;
  const auto clock = static_cast<ClockId>(id);
  SecNsec time;
  if (vvar::is_in(clock, vvar::kHresIds & B.ids)) [[likely]] {
    if (vvar::read_hres<B, C, vvar::Path::kHot, M>(binding.data, clock, binding.counters, time) ==
        Attempt::kDone) [[likely]] {
      store(out, time);
      return 0;
    }
    return rest_of_clock_gettime<B, C>(id, out);
  }
  if (vvar::is_in(clock, vvar::kCoarseIds)) [[likely]] {
    if (vvar::read_coarse<B>(binding.data, clock, time) == Attempt::kDone) [[likely]] {
      store(out, time);
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
    store(out, time);
  }
  if (zone != nullptr) {
    vvar::Timezone found{};
    if (!vvar::read_timezone<B>(dispatch.binding, found)) {
      return fallback::gettimeofday(nullptr, zone);
    }
    struct timezone* const target = static_cast<struct timezone*>(zone);
    target->tz_minuteswest = found.minutes_west;
    target->tz_dsttime = found.dst_type;
  }
  return 0;
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M>
int gettimeofday(timeval* out, void* zone) noexcept {
  SecNsec time;
  if (out != nullptr && zone == nullptr && read_at_once<B, C, M>(vvar::kRealtime, time))
      [[likely]] {
    store(out, time);
    return 0;
  }
  return rest_of_gettimeofday<B, C>(out, zone);
}

template <const BlockLayout& B>
time_t time(time_t* out) noexcept {
  std::uint64_t sec;
  if (!vvar::read_time<B>(dispatch.binding, sec)) [[unlikely]] {
    return fallback::time(out);
  }
  if (out != nullptr) {
    *out = static_cast<time_t>(sec);
  }
  return static_cast<time_t>(sec);
}

template <const BlockLayout& B, arch::Counter C>
[[gnu::noinline, gnu::cold]] int rest_of_timespec_get(timespec* out, int base) noexcept {
  const clockid_t id = fallback::clock_of_base(base);
  return id >= 0 && rest_of_clock_gettime<B, C>(id, out) == 0 ? base : 0;
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M>
int timespec_get(timespec* out, int base) noexcept {
  SecNsec time;
  if (base == TIME_UTC && read_at_once<B, C, M>(vvar::kRealtime, time)) [[likely]] {
    store(out, time);
    return base;
  }
  return rest_of_timespec_get<B, C>(out, base);
}

template <const BlockLayout& B>
int clock_getres(clockid_t id, timespec* out) noexcept {
  std::uint32_t ns;
  if (!vvar::read_resolution<B>(dispatch.binding, static_cast<ClockId>(id), ns)) [[unlikely]] {
    return fallback::clock_getres(id, out);
  }
  if (out != nullptr) {
    store(out, {0, ns});
  }
  return 0;
}

template <const BlockLayout& B, arch::Counter C, arch::ClockMode M>
constexpr Functions functions() noexcept {
  return {&clock_gettime<B, C, M>, &gettimeofday<B, C, M>, &time<B>, &timespec_get<B, C, M>,
          &clock_getres<B>};
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
  return vvar::with_block(kind, [&]<const BlockLayout & B>() { return functions<B>(wanted); });
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
  dispatch.seq.store(binding.data + block.seq, std::memory_order_release);
  ::mprotect(&dispatch, sizeof(dispatch),
             PROT_READ);  // a stray write in the host cannot bend its clocks; failing is harmless
}

}  // namespace vvarclock::serve
