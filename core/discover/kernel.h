// What discovery asks of the kernel, as one table, so that a simulated kernel can stand in for it
// in tests.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>

#include "arch/x86/raw_syscall.h"
#include "core/vvar/binding.h"
#include "core/vvar/clock_id.h"
#include "core/vvar/cycles_to_ns.h"
#include "core/vvar/layout.h"
#include "core/vvar/read_clock.h"

namespace vvarclock::discover {

struct Kernel {
  // May one load from this address? Answers without touching it itself, and leaves nothing behind.
  bool (*readable)(const std::byte* address) noexcept;
  // The system calls: 0 or a negative errno. Never the vDSO.
  long (*clock_gettime)(clockid_t id, arch::Timespec64* out) noexcept;
  long (*clock_getres)(clockid_t id, arch::Timespec64* out) noexcept;
  // The counter and the page readers built on it. counter is null where the counter may not be
  // read.
  std::uint64_t (*counter)() noexcept;
  bool (*read_clock)(vvar::BlockKind kind, const vvar::Binding& binding, vvar::ClockId id,
                     vvar::SecNsec& time) noexcept;
  // The time zone, by system call: 0 or a negative errno.
  long (*timezone)(vvar::Timezone& out) noexcept;
  // Where the kernel's fixed mappings are, which old kernels keep their page in: the address
  // itself, but for simulations.
  const std::byte* (*fixed_mapping)(std::uintptr_t address) noexcept;
};

// Page readers with counter C, in the form of Kernel::read_clock.
template <arch::Counter C>
bool read_clock_of_kind(vvar::BlockKind kind, const vvar::Binding& binding, vvar::ClockId id,
                        vvar::SecNsec& time) noexcept {
  return vvar::with_block(kind, [&]<const vvar::BlockLayout & B>() {
    return vvar::read_clock<B, C>(binding, id, time);
  });
}

// The same for the blocks that a program of this width can meet: less code.
template <arch::Counter C>
bool read_clock_of_own_kind(vvar::BlockKind kind, const vvar::Binding& binding, vvar::ClockId id,
                            vvar::SecNsec& time) noexcept {
  return vvar::with_own_block(kind, [&]<const vvar::BlockLayout & B>() {
    return vvar::read_clock<B, C>(binding, id, time);
  });
}

// The kernel that runs this process. counter: see Kernel; the ordered reader is used, so that what
// it reads can be bracketed by system calls.
const Kernel& host_kernel(bool counter_allowed) noexcept;

// May this process read the time-stamp counter in order: prctl PR_GET_TSC does not forbid it, and
// the CPU has lfence?
bool counter_allowed() noexcept;

}  // namespace vvarclock::discover
