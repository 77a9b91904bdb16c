// The kernel's own answer, in libc's convention: -1 and errno on failure, errno untouched on
// success.
//
// On 32-bit machines the functions exist for both widths of the seconds, with glibc's rules for
// what does not fit: see result.h.
#pragma once

#include <time.h>

#include "core/serve/result.h"

namespace vvarclock::serve::fallback {

// For callers of width W.
template <class W>
struct For {
  static int clock_gettime(clockid_t id, typename W::Timespec* out) noexcept;
  static int clock_getres(clockid_t id, typename W::Timespec* out) noexcept;
  // Fills the zone of 32-bit machines' wide callers with zeros, as glibc does.
  static int gettimeofday(typename W::Timeval* out, void* zone) noexcept;
  static typename W::Sec time(typename W::Sec* out) noexcept;
  static int timespec_get(typename W::Timespec* out, int base) noexcept;
};

extern template struct For<OwnWidth>;
extern template struct For<WideWidth>;

// The clock behind a base of timespec_get, as the running libc has it; -1: that libc does not know
// the base.
clockid_t clock_of_base(int base) noexcept;

// Sets errno for seconds that the caller's type cannot hold; -1.
int overflow() noexcept;

}  // namespace vvarclock::serve::fallback
