#include "core/discover/kernel.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "arch/x86/cpu.h"
#include "arch/x86/raw_syscall.h"
#include "arch/x86/rdtsc.h"

namespace vvarclock::discover {
namespace {

// rt_sigprocmask copies the new set from memory before it looks at `how`: EFAULT tells an
// unreadable address, EINVAL a readable one, and in both cases nothing has happened.
bool readable(const std::byte* address) noexcept {
  constexpr long kNoSuchHow = -1;
  constexpr long kSetSize = 8;
  return arch::raw_syscall(SYS_rt_sigprocmask, kNoSuchHow, reinterpret_cast<long>(address), 0,
                           kSetSize) == -EINVAL;
}

long ask_timezone(vvar::Timezone& out) noexcept {
  struct timezone zone {};
  const long result = arch::raw_gettimeofday(nullptr, &zone);
  out = {zone.tz_minuteswest, zone.tz_dsttime};
  return result;
}

const std::byte* fixed_mapping(std::uintptr_t address) noexcept {
  return reinterpret_cast<const std::byte*>(address);
}

// lfence is on every CPU that counter_allowed() lets read, so it serves for checking whatever
// ordering was chosen.
constexpr Kernel kHost{readable,
                       arch::raw_clock_gettime,
                       arch::raw_clock_getres,
                       arch::LfenceTsc::read,
                       read_clock_of_own_kind<arch::LfenceTsc>,
                       ask_timezone,
                       fixed_mapping};
constexpr Kernel kHostWithoutCounter{readable,
                                     arch::raw_clock_gettime,
                                     arch::raw_clock_getres,
                                     nullptr,
                                     read_clock_of_own_kind<arch::ForbiddenCounter>,
                                     ask_timezone,
                                     fixed_mapping};

}  // namespace

const Kernel& host_kernel(bool counter_allowed) noexcept {
  return counter_allowed ? kHost : kHostWithoutCounter;
}

bool counter_allowed() noexcept {
  if (!arch::has_lfence()) {
    return false;
  }
  int state = 0;
  const long result = arch::raw_syscall(SYS_prctl, PR_GET_TSC, reinterpret_cast<long>(&state));
  return result < 0 ||
         state != PR_TSC_SIGSEGV;  // a kernel that does not know the question forbids nothing
}

}  // namespace vvarclock::discover
