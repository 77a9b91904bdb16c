// The jumps, one function each: makes the clocks jump while the readers read, and checks that the
// jump has really come.
//
// Each needs root in a guest of its own: they set the machine's clock. Each leaves the clock
// steered as it was, but the time of day where it went.
#pragma once

#include "test/kernels/guest/readers.h"
#include "test/kernels/guest/result.h"

namespace guest {

struct Stage {
  Readers& readers;
  Result& result;
  Nanoseconds length;  // for what goes on for a while
};

void step_wall_clock(
    const Stage& stage);  // clock_settime, settimeofday, ADJ_SETOFFSET: small to huge, both ways
void slew(const Stage& stage);               // adjtimex: tick, frequency, offset, single shot
void change_tai_offset(const Stage& stage);  // adjtimex: ADJ_TAI
void insert_leap_second(const Stage& stage);
void delete_leap_second(const Stage& stage);
void lose_time_in_gaps(const Stage& stage);    // the machine is stopped from outside
void suspend(const Stage& stage);              // freeze and mem, where the kernel offers them
void switch_clock_source(const Stage& stage);  // tsc, hpet, acpi_pm in turn

// False: the kernel refuses.
bool select_clock_source(const char* name);

void sleep_for(Nanoseconds length);

}  // namespace guest
