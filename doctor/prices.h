// What every call costs here: ours, the vDSO's, the system call, and the bare counter.
#pragma once

#include "doctor/examination.h"

namespace vvarclock::doctor {

// Fills prices and counters. Needs everything before them.
void find_prices(Examination& all);

// Bare counter reads. rdtscp only where the caller knows that it works.
std::vector<Subject> counter_subjects(bool rdtscp);

// A clock for measuring: the vDSO's where it may be called, else the system call.
std::uint64_t (*measuring_clock(const Way& vdso, bool counter_allowed))() noexcept;

}  // namespace vvarclock::doctor
