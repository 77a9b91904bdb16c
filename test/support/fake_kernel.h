// A whole simulated kernel: memory laid out like the vvar pages and the vDSO image of any row of
// vvar::kLayouts, a timekeeper that keeps them up to date by the kernel's rules, a hypervisor, time
// namespaces, and the system calls as the reference.
//
// It hands itself out as a discover::Kernel table, whose plain functions act on the one instance
// that is alive. The memory is shared: the kernel writes through one mapping, readers see another
// that is read-only, and a page that the kernel would not give out has no access at all. Pages can
// be swapped under a running reader, as entering a time namespace does.
//
// Rows before 5.3 follow their own generation: one block, its own mode numbers, pages at their own
// anchors. Where the kernel would read an HPET, the simulation's source without a vDSO mode is one;
// its page is a device, and a test that as much as asks about it ends at once.
//
// One thread may change it; any number of threads may read pages, snapshots and answers, when the
// counter is a real one.
#pragma once

#include <time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "arch/x86/page.h"
#include "core/discover/kernel.h"
#include "core/vvar/binding.h"
#include "core/vvar/layout.h"
#include "test/support/hypervisor.h"
#include "test/support/page_writer.h"
#include "test/support/snapshot_box.h"
#include "test/support/timekeeper.h"

namespace vvarclock::test {

class FakeKernel;

struct FakeSetup {
  std::uint64_t tsc_hz = 2'600'000'000;
  arch::ClockMode mode = arch::kModeTsc;
  std::uint64_t start =
      5'000'000'000'000;  // counter at boot of the timekeeper; real counter: ignored
  bool real_counter = false;
  bool zero_timens_page =
      false;  // 7.3: outside a namespace its page reads as zeros instead of not at all
  // Ticks come by themselves as the simulated counter passes them: in the middle of whatever reads
  // it. Instead of the tick the interrupt may be anything else.
  bool ticking = false;
  void (*interrupt)(FakeKernel&) = nullptr;
};

// All that a reference answer depends on.
struct Snapshot {
  Times times;
  Hypervisor hypervisor;
  TimensOffsets offsets;
  std::uint64_t tsc_hz = 0;
  bool in_timens = false;
};

// The current source's cycles, and the system call's answer, at a value of the time-stamp counter.
std::uint64_t cycles_of(const Snapshot& snapshot, arch::ClockMode mode, std::uint64_t tsc) noexcept;
Int128 reference_ns(const Snapshot& snapshot, vvar::ClockId id, std::uint64_t tsc) noexcept;

ClockSource source_of(arch::ClockMode mode, std::uint64_t tsc_hz) noexcept;

// Clock modes are today's numbers throughout; only the page has its generation's own. The Hyper-V
// page is not known to every generation.
constexpr bool has_mode(const vvar::Layout& layout, arch::ClockMode mode) noexcept {
  return mode != arch::kModeHvclock || layout.hvclock != vvar::kNoPage;
}

class FakeKernel {
 public:
  enum class Page : std::uint8_t { kData, kTimens, kPvclock, kHvclock };

  explicit FakeKernel(const vvar::Layout& layout, const FakeSetup& setup = {});
  ~FakeKernel();
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;

  [[nodiscard]] const vvar::Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] const std::byte* image() const noexcept { return view_ + image_offset_; }
  // Whole pages, as mapped: two; one where pages follow it, as that is what discovery sees of a
  // small image.
  [[nodiscard]] std::span<const std::byte> mapped_image() const noexcept {
    return {image(), image_pages() * arch::kPageSize};
  }
  // Where an offset of the layout leads, counted from its anchor; null: the layout has no such
  // page.
  [[nodiscard]] const std::byte* at(std::int32_t offset) const noexcept;
  // The image as its builder sees it.
  [[nodiscard]] std::span<std::byte> writable_image() noexcept;
  // What a perfect discovery would find.
  [[nodiscard]] vvar::Binding binding() const noexcept;
  [[nodiscard]] const discover::Kernel& table() const noexcept;
  [[nodiscard]] const Snapshot& state() const noexcept { return state_; }
  [[nodiscard]] const SnapshotBox<Snapshot>& published() const noexcept { return box_; }
  // The system call at this instant. -22 (EINVAL) for ids that it does not know.
  long clock_gettime(clockid_t id, arch::Timespec64* out) const noexcept;

  // Events. Each is one update of the page.
  void tick();
  void slew(std::int32_t ppm);  // against the source's own mult
  void step(std::int64_t ns);
  void set_tai_offset(std::int64_t seconds);
  void insert_leap_second_at(std::uint64_t realtime_sec) {
    timekeeper_.insert_leap_second_at(realtime_sec);
  }
  void sleep(std::int64_t ns);
  void use_source(arch::ClockMode mode);
  void use_source_or_none(arch::ClockMode mode) {  // none: this generation has no such mode
    use_source(has_mode(layout_, mode) ? mode : arch::kModeNone);
  }
  void update_hypervisor(std::int32_t ppm, bool stable = true);  // the clocks go on at another rate
  void set_timezone(std::int32_t minutes_west, std::int32_t dst);

  // Simulated counter only. Long waits with a narrow counter are ticked, or it would wrap unseen.
  void advance_ns(std::uint64_t ns);

  // The task enters or leaves a time namespace: the page in place of the data is another from now
  // on.
  void enter_timens(const TimensOffsets& offsets);
  void leave_timens();

  // Faults. A writer that never finishes; a page that is not given out; a page full of zeros; a
  // hypervisor that never finishes; bytes that are wrong after every update from now on.
  void hold_seq_odd(bool odd);
  void withdraw(Page page);
  void zero(Page page);
  void hold_pvclock_odd();
  void patch(std::size_t offset_in_data, std::span<const std::byte> bytes);
  void patch_u32(std::size_t offset_in_data, std::uint32_t value);
  void patch_u64(std::size_t offset_in_data, std::uint64_t value);

  // Raw bytes as the kernel's writer sees them, data counted from block 0.
  [[nodiscard]] std::byte* writable(Page page) noexcept;

 private:
  enum Store : std::uint8_t {
    kRealData,
    kTimensData,
    kPvclockPage,
    kHvclockPage,
    kZeros,
    kImage,
    kImage2,
    kStores
  };
  struct Patch {
    std::size_t offset;
    std::vector<std::byte> bytes;
  };

  template <class F>
  void update(F change);
  static FakeKernel& current() noexcept;
  void place_pages() noexcept;
  void create_memory();
  void destroy_memory() noexcept;
  [[nodiscard]] std::uint64_t tsc_now() const noexcept;
  [[nodiscard]] std::int32_t place_of(Page page) const noexcept;
  void map(std::int32_t place, Store store);
  void map_at(std::size_t offset, Store store);
  void unmap(std::int32_t place);
  [[nodiscard]] std::size_t image_pages() const noexcept {
    return layout_.anchor == vvar::Anchor::kImageEnd ? 1 : 2;
  }
  // Within the mapping, of a place that counts from the anchor.
  [[nodiscard]] std::size_t view_offset(std::int32_t place) const noexcept {
    return anchor_offset_ + static_cast<std::size_t>(std::int64_t{place});
  }
  [[nodiscard]] bool is_hpet(std::size_t page) const noexcept;
  [[nodiscard]] bool readable(const std::byte* address) const noexcept;
  void give_out_hypervisor_page(arch::ClockMode mode);
  static void on_counter_read();

  vvar::Layout layout_;
  FakeSetup setup_;
  Dialect dialect_;
  Snapshot state_;
  vvar::Timezone timezone_{};
  Timekeeper timekeeper_;
  SnapshotBox<Snapshot> box_;
  std::byte* view_ = nullptr;
  std::byte* backing_ = nullptr;
  std::size_t pages_ = 0;
  std::size_t image_offset_ = 0;
  std::size_t anchor_offset_ = 0;  // modulo 2^64: address 0 is far outside the mapping
  std::vector<bool> present_;
  std::vector<Patch> patches_;
  std::uint64_t next_tick_ = 0;
  int memory_ = -1;
  bool updating_ = false;
};

}  // namespace vvarclock::test
