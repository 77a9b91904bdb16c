// The words for reports: what discovery came to, what is wrong with an image, and which test
// refused a layout.
#include "core/discover/discovery.h"
#include "core/discover/layout_probe.h"

namespace vvarclock::discover {

const char* describe(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kBound:
      return "the vvar page is in use";
    case Outcome::kNoVdso:
      return "the kernel gave this process no vDSO";
    case Outcome::kUnreadable:
      return "the vDSO cannot be read";
    case Outcome::kBadImage:
      return "the vDSO is not an image that can be used";
    case Outcome::kNoLayout:
      return "no known layout fits the vvar page";
  }
  return "?";
}

const char* describe(ImageError error) noexcept {
  switch (error) {
    case ImageError::kNone:
      return "no error";
    case ImageError::kNotElf:
      return "not an ELF image for this kind of program, or without program headers";
    case ImageError::kWrongMachine:
      return "an ELF image for another machine";
    case ImageError::kNoText:
      return "no executable segment inside the image";
    case ImageError::kNoDynamic:
      return "no usable dynamic section, symbol table or string table";
    case ImageError::kNoClock:
      return "no clock_gettime among the symbols";
    case ImageError::kLibelf:
      return "libelf does not accept the image";
  }
  return "?";
}

namespace {

struct TestText {
  ProbeTest test;
  const char* text;
};

constexpr TestText kTestTexts[] = {
    {ProbeTest::kPassed, "passed"},
    {ProbeTest::kCodeData, "the vDSO's code reads another data page"},
    {ProbeTest::kCodeStride, "the vDSO's code has another distance between the clock blocks"},
    {ProbeTest::kCodeIds, "the vDSO's code knows other clock ids"},
    {ProbeTest::kCodeFields, "the vDSO's code reads fields behind this layout's clock block"},
    {ProbeTest::kCodeDevice, "the vDSO's code reads an HPET, which this generation does not"},
    {ProbeTest::kCodeSilent,
     "the bytes say too little, and the vDSO's code does not confirm the layout"},
    {ProbeTest::kDataUnreadable, "the data page cannot be read"},
    {ProbeTest::kTimensUnreadable, "a time-namespace page without a readable real page"},
    {ProbeTest::kTimensPage, "a time-namespace mark on a page that is none"},
    {ProbeTest::kSeqOdd, "the sequence count stays odd"},
    {ProbeTest::kUnstable, "the page does not hold still"},
    {ProbeTest::kClockMode, "not a clock mode"},
    {ProbeTest::kMask, "the mask is not all ones"},
    {ProbeTest::kShift, "the shift is out of range"},
    {ProbeTest::kMult, "the kernel cannot have chosen this raw mult and shift"},
    {ProbeTest::kMaxCycles, "max_cycles does not follow from mult"},
    {ProbeTest::kBlocksDisagree, "the two clock blocks disagree"},
    {ProbeTest::kRawMult, "mult is too far from the raw mult"},
    {ProbeTest::kCounterAge, "cycle_last is not a recent count"},
    {ProbeTest::kNsecRange, "a base has more than a second of nanoseconds"},
    {ProbeTest::kCoarseRange, "a coarse clock is empty or has too many nanoseconds"},
    {ProbeTest::kTai, "the TAI base does not belong to the REALTIME base"},
    {ProbeTest::kWallToMonotonic,
     "REALTIME and MONOTONIC are apart differently in fine and coarse clocks"},
    {ProbeTest::kBoottime, "BOOTTIME is behind MONOTONIC"},
    {ProbeTest::kZeroSlots, "an unused slot is in use"},
    {ProbeTest::kCoarseBase, "the coarse clock is far from the fine one's base"},
    {ProbeTest::kResolution, "the resolution is not what clock_getres says"},
    {ProbeTest::kTimezone, "the time zone is not what gettimeofday says"},
    {ProbeTest::kCounterPage, "the hypervisor page that the clock mode names cannot be read"},
    {ProbeTest::kAgreement, "what the system call answers is not between two readings"},
};

}  // namespace

const char* describe(ProbeTest test) noexcept {
  for (const TestText& row : kTestTexts) {
    if (row.test == test) {
      return row.text;
    }
  }
  return "?";
}

const char* describe(vvar::Anchor anchor) noexcept {
  switch (anchor) {
    case vvar::Anchor::kImage:
      return "vDSO";
    case vvar::Anchor::kImageEnd:
      return "end of vDSO";
    case vvar::Anchor::kAbsolute:
      return "address 0";
  }
  return "?";
}

}  // namespace vvarclock::discover
