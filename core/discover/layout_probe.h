// Candidate page + layout -> believed or refused.
//
// Three witnesses must agree: the code of the vDSO (code_hints.h), the bytes of the page (the
// invariants that the kernel keeps), and the system call (of every served clock, between two
// readings of the page). The first test that fails names the refusal. Version numbers are not
// asked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/discover/code_hints.h"
#include "core/discover/kernel.h"
#include "core/vvar/binding.h"
#include "core/vvar/layout.h"

namespace vvarclock::discover {

enum class ProbeTest : std::uint8_t {
  kPassed,
  kCodeData,          // the vDSO's code reads another data page
  kCodeStride,        // ... another distance between the clock blocks
  kCodeIds,           // ... other clock ids
  kCodeFields,        // ... fields behind the clock block
  kCodeDevice,        // ... an HPET, which this generation does not read
  kCodeSilent,        // the code does not confirm, and without it too little is known: a page
                      // before 5.3, or fine clocks that cannot be read now
  kDataUnreadable,    // the data page cannot be read
  kTimensUnreadable,  // a time-namespace mark, but no readable real page behind it
  kTimensPage,        // a time-namespace mark over bytes that are not a namespace page
  kSeqOdd,            // seq stays odd
  kUnstable,          // the page does not hold still long enough for a copy
  kClockMode,         // not a mode of this generation
  kMask,
  kShift,
  kMult,
  kMaxCycles,
  kBlocksDisagree,  // blocks 0 and 1 have different modes, cycle_last, masks, shifts
  kRawMult,         // the raw clock's mult is too far from the steered one
  kCounterAge,      // counter - cycle_last is negative by much, or hours old
  kNsecRange,
  kCoarseRange,
  kTai,              // TAI's nanoseconds are not REALTIME's
  kWallToMonotonic,  // REALTIME - MONOTONIC differs between the fine and the coarse clocks
  kBoottime,         // behind MONOTONIC
  kZeroSlots,        // an unused basetime slot is in use
  kCoarseBase,       // coarse and high-resolution bases are far apart
  kResolution,       // hrtimer_res is not what clock_getres says
  kTimezone,         // impossible time zone
  kCounterPage,      // the hypervisor page that the mode names cannot be read
  kAgreement,        // the system call's answer is not between two readings
};

const char* describe(ProbeTest test) noexcept;

struct Refusal {
  const vvar::Layout* layout = nullptr;
  ProbeTest test = ProbeTest::kPassed;
  std::int32_t clock = -1;  // the clock id, where the test is about one
  std::uint64_t value = 0;  // what was found, where there is one number
};

// How much agreement is asked for: attaching must be cheap, a diagnosis may take its time.
struct Effort {
  std::uint32_t rounds;          // brackets per clock id
  std::uint32_t update_wait_ns;  // wait this long for a page update, and go on over it
};
// No wait in a program's start: an update comes once per tick, at a moment that the page does not
// tell, so a wait short enough for a start would mostly be in vain. The brackets of the coarse
// clocks already show a page that is no longer updated. A second bracket within microseconds of the
// first would show nothing new.
inline constexpr Effort kAttachEffort{1, 0};
inline constexpr Effort kDiagnosisEffort{1000, 20'000'000};

struct Probe {
  const Kernel* kernel;
  std::span<const std::byte> image;  // the vDSO as mapped: layouts count from its start or its end
  CodeHints hints;
  Effort effort;
};

// kPassed in .test: believed, and `binding` is filled. Otherwise the refusal, and binding is
// untouched.
Refusal probe_layout(const Probe& probe, const vvar::Layout& layout,
                     vvar::Binding& binding) noexcept;

}  // namespace vvarclock::discover
