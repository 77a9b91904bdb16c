// What was found, chosen, refused and why: text for people, JSON for machines.
//
// Composed in a bounded buffer without allocation, stdio or locale, because it runs inside host
// programs while attaching. A report is about the moment at which it is composed: the clock mode
// may be another one in the next.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/ordering.h"
#include "arch/x86/clock_mode.h"
#include "core/discover/discovery.h"
#include "core/serve/message.h"
#include "core/serve/options.h"
#include "core/vvar/clock_id.h"

namespace vvarclock::serve {

struct Report {
  const discover::Discovery* discovery;  // null: nothing was looked for
  const Options* options;
  arch::Ordering ordering;  // in effect
  bool counter_allowed;
  bool attached;  // the page readers are in place
  // What the counter said when attaching began and when it had ended; 0: nothing was timed.
  std::uint64_t began = 0;
  std::uint64_t ended = 0;
};

// Who answers a clock id now. Everything but the first two means the system call, and says why.
enum class Service : std::uint8_t {
  kReader,
  kRawLine,           // a line in the counter, taught and checked by system calls: raw_clock.h
  kOff,               // VVARCLOCK
  kSourceSyscall,     // VVARCLOCK_SOURCE
  kNoLayout,          // nothing is believed: see the discovery's outcome
  kNotAttached,       // believed, but the readers are not in place
  kNoTimensPage,      // in a time namespace, and the real page is not known
  kNotInPage,         // kernels before 5.3 keep some clocks out of it
  kRawSyscall,        // VVARCLOCK_RAW
  kCounterForbidden,  // prctl PR_SET_TSC
  kModeNone,
  kModeUnknown,
  kNoCounterPage,    // the hypervisor page that the mode names cannot be read
  kPvclockUnstable,  // vCPU 0's record does not hold for the others
  kHvclockInvalid,   // sequence 0
};

Service service(const Report& report, vvar::ClockId id) noexcept;
const char* describe(Service service) noexcept;
// "reader", "line" or "syscall".
const char* word(Service service) noexcept;

// One stable word for machines; discover::describe has the sentence.
const char* word(discover::Outcome outcome) noexcept;

bool is_bound(const Report& report) noexcept;
bool in_time_namespace(const discover::Discovery& bound) noexcept;
// Block 0 of the real data, behind the mark when a time namespace is in force; null when that is
// not known.
const std::byte* data_now(const discover::Discovery& bound) noexcept;
// In today's numbers, whatever the generation's own are.
arch::ClockMode clock_mode_now(const discover::Discovery& bound) noexcept;

// The most that a pipe takes in one piece; the longest report is shorter.
inline constexpr std::size_t kReportSize = 4096;
using ReportBuffer = TextBuffer<kReportSize>;

// Several lines, each starting with "vvarclock: ".
void append_text(const Report& report, ReportBuffer& out) noexcept;
// One line holding one JSON object.
void append_json(const Report& report, ReportBuffer& out) noexcept;
// The members of that object without its braces, for a larger object to hold.
void append_json_members(const Report& report, ReportBuffer& out) noexcept;

// Sends the report where VVARCLOCK_REPORT says: nowhere, standard error, or the end of a regular
// file (JSON when its name ends in ".json"), in one write so that reports of concurrent processes
// do not mix. A file that is not there is created as by O_EXCL, with mode 0600 less the umask. One
// that is there must be the effective user's own and have one name; a symbolic link in the last
// part of the path is not followed, and what is no regular file is not opened. The folders before
// it are the user's choice: who can write to them can take the file away. A file that cannot be
// used costs one line on standard error. Raises no signal in the host and leaves errno and the
// descriptors as they were.
void write_report(const Report& report, const Options& options) noexcept;

}  // namespace vvarclock::serve
