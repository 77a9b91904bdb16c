// The tables of page_faults.h.
#include "test/core/discover/page_faults.h"

#include "arch/load.h"

namespace vvarclock::test {
namespace {

using arch::load;
using discover::ProbeTest;
using vvar::BlockLayout;

using Page = FakeKernel::Page;

std::uint64_t now_at(ProbeKernel& kernel, std::size_t offset) {
  return load<std::uint64_t>(kernel.writable(Page::kData), offset);
}

void set_both_modes(ProbeKernel& kernel, const BlockLayout& b, std::uint32_t mode) {
  kernel.patch_u32(b.mode, mode);
  kernel.patch_u32(b.stride + std::size_t{b.mode}, mode);
}

bool with_tai(const vvar::Layout& row) {
  return vvar::is_in(vvar::kTai, vvar::block_layout(row.block).ids);
}
bool with_hvclock(const vvar::Layout& row) { return row.hvclock != vvar::kNoPage; }
bool with_pvclock(const vvar::Layout& row) { return row.pvclock != vvar::kNoPage; }
bool until_46(const vvar::Layout& row) { return row.hpet; }
bool since_47(const vvar::Layout& row) { return !row.hpet; }
bool wide_rows(const vvar::Layout& row) { return !vvar::block_layout(row.block).narrow; }

std::int64_t shifted(const ProbeKernel& kernel, std::int64_t ns) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(ns) << kernel.state().times.shift);
}

void mark_as_timens(ProbeKernel& kernel, const BlockLayout& b) {
  for (const std::size_t block : {std::size_t{0}, std::size_t{b.stride}}) {
    store<std::uint32_t>(kernel.writable(Page::kData), block, 1);
    store<std::int32_t>(kernel.writable(Page::kData), block + 4, arch::kModeTimens);
  }
}

using K = ProbeKernel;
using B = BlockLayout;

}  // namespace

void add(ProbeKernel& kernel, std::size_t offset, std::int64_t amount) {
  kernel.patch_u64(offset, now_at(kernel, offset) + static_cast<std::uint64_t>(amount));
}

void add_to_both_blocks(ProbeKernel& kernel, const vvar::BlockLayout& b, std::size_t offset,
                        std::int64_t amount) {
  add(kernel, offset, amount);
  add(kernel, b.stride + offset, amount);
}

const std::vector<Fault>& faults_of_bytes() {
  static const std::vector<Fault> kFaults{
      {ProbeTest::kDataUnreadable, "no data page", [](K& k, const B&) { k.withdraw(Page::kData); }},
      {ProbeTest::kSeqOdd, "a writer for ever at work",
       [](K& k, const B&) { k.hold_seq_odd(true); }},
      {ProbeTest::kTimensPage, "the mark alone", [](K& k, const B& b) { mark_as_timens(k, b); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kClockMode, "mode 4", [](K& k, const B& b) { set_both_modes(k, b, 4); },
       arch::kModeTsc, since_47},
      {ProbeTest::kClockMode, "mode 5 of an old page",
       [](K& k, const B& b) { set_both_modes(k, b, 5); }, arch::kModeTsc, until_46},
      {ProbeTest::kClockMode, "the mark under an even seq",
       [](K& k, const B& b) { set_both_modes(k, b, arch::kModeTimens); }},
      {ProbeTest::kClockMode, "a high bit",
       [](K& k, const B& b) { set_both_modes(k, b, 0x80000001); }},
      {ProbeTest::kZeroSlots, "slot 2 sec", [](K& k, const B& b) { k.patch_u64(b.sec(2), 1); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kZeroSlots, "slot 4 nsec", [](K& k, const B& b) { k.patch_u64(b.nsec(4), 1); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kZeroSlots, "slot 10", [](K& k, const B& b) { k.patch_u64(b.nsec(10), 1); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kZeroSlots, "slot 0 of block 1",
       [](K& k, const B& b) { k.patch_u64(b.stride + b.sec(0), 1); }, arch::kModeTsc, generic_rows},
      {ProbeTest::kZeroSlots, "slot 11 of block 1",
       [](K& k, const B& b) { k.patch_u64(b.stride + b.nsec(11), 1); }, arch::kModeTsc,
       generic_rows},
      {ProbeTest::kCoarseRange, "a second of coarse ns",
       [](K& k, const B& b) { k.patch_u64(b.nsec(5), kSecond); }},
      {ProbeTest::kCoarseRange, "coarse ns are shifted",
       [](K& k, const B& b) { k.patch_u64(b.nsec(6), std::uint64_t{500'000'000} << 24); },
       arch::kModeTsc, wide_rows},
      {ProbeTest::kCoarseRange, "an empty coarse clock",
       [](K& k, const B& b) { k.patch_u64(b.sec(6), 0), k.patch_u64(b.nsec(6), 0); }},
      {ProbeTest::kResolution, "resolution 0",
       [](K& k, const B&) { k.patch_u32(k.layout().hrtimer_res, 0); }, arch::kModeTsc,
       generic_rows},
      {ProbeTest::kResolution, "resolution of a tick",
       [](K& k, const B&) { k.patch_u32(k.layout().hrtimer_res, kTickNs); }, arch::kModeTsc,
       generic_rows},
      {ProbeTest::kTimezone, "not the kernel's zone",
       [](K& k, const B&) { k.patch_u32(k.layout().timezone, 60); }},
      {ProbeTest::kTimezone, "not the kernel's dst",
       [](K& k, const B&) { k.patch_u32(k.layout().timezone + 4U, 1); }},
      {ProbeTest::kTimezone, "a zone that no kernel takes",
       [](K& k, const B&) { k.set_timezone(16 * 60, 0); }},
      {ProbeTest::kBlocksDisagree, "a raw block whose mode leads to another page",
       [](K& k, const B& b) {
         k.withdraw(Page::kHvclock);
         k.patch_u32(b.stride + std::size_t{b.mode}, arch::kModeHvclock);
       },
       arch::kModeNone, generic_rows},
      {ProbeTest::kBlocksDisagree, "a raw block with a count of its own",
       [](K& k, const B& b) { store<std::uint32_t>(k.writable(Page::kData), b.stride, 1000); },
       arch::kModeNone, generic_rows},
  };
  return kFaults;
}

const std::vector<Fault>& faults_of_scale() {
  static const std::vector<Fault> kFaults{
      {ProbeTest::kMask, "56 bits",
       [](K& k, const B& b) { k.patch_u64(b.mask, ~std::uint64_t{0} >> 8); }},
      {ProbeTest::kShift, "shift 0", [](K& k, const B& b) { k.patch_u32(b.shift, 0); }},
      {ProbeTest::kShift, "shift 33", [](K& k, const B& b) { k.patch_u32(b.shift, 33); }},
      {ProbeTest::kMult, "raw mult + 1",
       [](K& k, const B& b) { k.patch_u32(b.stride + b.mult, k.state().times.raw_mult + 1); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kMult, "raw mult 0", [](K& k, const B& b) { k.patch_u32(b.stride + b.mult, 0); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kMult, "the TSC's mult under an old kernel's pvclock",
       [](K& k, const B& b) { set_both_modes(k, b, 3); }, arch::kModeTsc, until_46},
      {ProbeTest::kMult, "a third of the TSC's mult, and no raw block to hold it against",
       [](K& k, const B& b) { k.patch_u32(b.mult, k.state().times.raw_mult / 3); }, arch::kModeTsc,
       is_old},
      {ProbeTest::kMult, "mult 0", [](K& k, const B& b) { k.patch_u32(b.mult, 0); }, arch::kModeTsc,
       is_old},
      {ProbeTest::kMult, "the TSC's mult under pvclock",
       [](K& k, const B& b) { set_both_modes(k, b, 2); }, arch::kModeTsc, since_47},
      {ProbeTest::kMult, "the TSC's mult under Hyper-V",
       [](K& k, const B& b) { set_both_modes(k, b, 3); }, arch::kModeTsc, since_47},
      {ProbeTest::kMult, "pvclock's mult under Hyper-V",
       [](K& k, const B& b) { set_both_modes(k, b, 3); }, arch::kModePvclock, with_hvclock},
      {ProbeTest::kMult, "Hyper-V's mult under the TSC",
       [](K& k, const B& b) { set_both_modes(k, b, 1); }, arch::kModeHvclock, with_hvclock},
      {ProbeTest::kBlocksDisagree, "cycle_last",
       [](K& k, const B& b) { add(k, b.stride + b.cycle_last, 1); }, arch::kModeTsc, generic_rows},
      {ProbeTest::kBlocksDisagree, "mode", [](K& k, const B& b) { k.patch_u32(b.stride + 4U, 2); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kBlocksDisagree, "mask",
       [](K& k, const B& b) { k.patch_u64(b.stride + b.mask, 0); }, arch::kModeTsc, generic_rows},
      {ProbeTest::kBlocksDisagree, "shift", [](K& k, const B& b) { k.patch_u32(b.shift, 23); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kBlocksDisagree, "seq",
       [](K& k, const B& b) { store<std::uint32_t>(k.writable(Page::kData), b.stride, 1000); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kRawMult, "12 % faster",
       [](K& k, const B& b) { k.patch_u32(b.mult, k.state().times.raw_mult / 100 * 112); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kRawMult, "12 % slower",
       [](K& k, const B& b) { k.patch_u32(b.mult, k.state().times.raw_mult / 100 * 88); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kCounterAge, "cycle_last in the future",
       [](K& k, const B& b) { add_to_both_blocks(k, b, b.cycle_last, 2'000'000'000); }},
      {ProbeTest::kCounterAge, "cycle_last two hours ago",
       [](K& k, const B& b) { add_to_both_blocks(k, b, b.cycle_last, -2'600'000'000 * 7200); }},
  };
  return kFaults;
}

const std::vector<Fault>& faults_of_bases() {
  static const std::vector<Fault> kFaults{
      {ProbeTest::kNsecRange, "two seconds of MONOTONIC",
       [](K& k, const B& b) { add(k, b.nsec(1), shifted(k, 2 * kSecond)); }},
      {ProbeTest::kNsecRange, "two seconds of RAW",
       [](K& k, const B& b) { add(k, b.stride + b.nsec(4), shifted(k, 2 * kSecond)); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kNsecRange, "an empty RAW",
       [](K& k, const B& b) {
         k.patch_u64(b.stride + b.sec(4), 0), k.patch_u64(b.stride + b.nsec(4), 0);
       },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kTai, "one part of a nanosecond", [](K& k, const B& b) { add(k, b.nsec(11), 1); },
       arch::kModeTsc, with_tai},
      {ProbeTest::kTai, "behind REALTIME", [](K& k, const B& b) { add(k, b.sec(11), -38); },
       arch::kModeTsc, with_tai},
      {ProbeTest::kTai, "a day ahead and more",
       [](K& k, const B& b) { add(k, b.sec(11), 100'000); }, arch::kModeTsc, with_tai},
      {ProbeTest::kWallToMonotonic, "coarse REALTIME + 1 ns",
       [](K& k, const B& b) { add(k, b.nsec(5), 1); }},
      {ProbeTest::kWallToMonotonic, "MONOTONIC + 1 s",
       [](K& k, const B& b) { add(k, b.sec(1), 1); }},
      {ProbeTest::kBoottime, "a second behind", [](K& k, const B& b) { add(k, b.sec(7), -1); },
       arch::kModeTsc, generic_rows},
      {ProbeTest::kCoarseBase, "coarse clocks a second ahead",
       [](K& k, const B& b) { add(k, b.sec(5), 1), add(k, b.sec(6), 1); }},
      {ProbeTest::kCoarseBase, "coarse clocks 5 ms behind",
       [](K& k, const B& b) { add(k, b.nsec(5), -5'000'000), add(k, b.nsec(6), -5'000'000); }},
      {ProbeTest::kCounterPage, "no pvclock page",
       [](K& k, const B&) { k.withdraw(Page::kPvclock); }, arch::kModePvclock, with_pvclock},
      {ProbeTest::kCounterPage, "no Hyper-V page",
       [](K& k, const B&) { k.withdraw(Page::kHvclock); }, arch::kModeHvclock, with_hvclock},
      {ProbeTest::kAgreement, "REALTIME and what hangs on it a second ahead",
       [](K& k, const B& b) {
         for (const vvar::ClockId id : {0U, 1U, 5U, 6U, 7U, 11U}) {
           if (vvar::is_in(id, b.ids)) {
             add(k, b.sec(id), 1);
           }
         }
       }},
      {ProbeTest::kAgreement, "BOOTTIME a second ahead",
       [](K& k, const B& b) { add(k, b.sec(7), 1); }, arch::kModeTsc, generic_rows},
      {ProbeTest::kAgreement, "TAI a second ahead", [](K& k, const B& b) { add(k, b.sec(11), 1); },
       arch::kModeTsc, with_tai},
      {ProbeTest::kAgreement, "RAW a second ahead",
       [](K& k, const B& b) { add(k, b.stride + b.sec(4), 1); }, arch::kModeTsc, generic_rows},
      {ProbeTest::kAgreement, "RAW 2 us ahead",
       [](K& k, const B& b) { add(k, b.stride + b.nsec(4), shifted(k, 2000)); }, arch::kModeTsc,
       generic_rows},
      {ProbeTest::kAgreement, "coarse clocks 1 us behind",
       [](K& k, const B& b) { add(k, b.nsec(5), -1000), add(k, b.nsec(6), -1000); }},
      {ProbeTest::kAgreement, "10 % faster than the kernel",
       [](K& k, const B& b) { k.patch_u32(b.mult, k.state().times.raw_mult / 100 * 110); }},
      {ProbeTest::kAgreement, "a TSC that is another's",
       [](K& k, const B& b) { add_to_both_blocks(k, b, b.cycle_last, -1'000'000'000); }},
      {ProbeTest::kAgreement, "another pvclock rate",
       [](K& k, const B&) { store<std::uint32_t>(k.writable(Page::kPvclock), 24, 0x80000000); },
       arch::kModePvclock, with_pvclock},
      {ProbeTest::kAgreement, "another Hyper-V offset",
       [](K& k, const B&) { store<std::uint64_t>(k.writable(Page::kHvclock), 16, 77); },
       arch::kModeHvclock, with_hvclock},
  };
  return kFaults;
}

}  // namespace vvarclock::test
