// Real threads and the real counter: readers take every clock while the kernel's clock source
// changes at random under them.
//
// Guards: a value put together from two states of the page; a step back at a switch; a reader that
// never ends. Each reading is bracketed by the reference "system call", taken from a lock-free
// snapshot. Ordered readers hand their values to each other and must never see time go back;
// unordered ones only promise that to themselves.
//
// The task enters and leaves time namespaces too, while all its readers stand still: the kernel
// lets a task do that only while it has a single thread.
//
// Under ThreadSanitizer the snapshots, the gate, the hand-over and everything else of the test are
// checked; the page is not, and what that leaves to the brackets is said in
// test/support/tsan_volatile.cc.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "arch/x86/rdtsc.h"
#include "test/support/catch.h"
#include "test/support/fake_kernel.h"
#include "test/support/gate.h"
#include "test/support/held_up_counter.h"
#include "test/support/page_store.h"
#include "test/support/random.h"
#include "test/support/time_for_threads.h"

namespace vvarclock::test {
namespace {

// Types of this file's own, so that the readers below are compiled here and nowhere else.
using OrderedTsc = HeldUp<arch::LfenceTsc, true>;
using UnorderedTsc = HeldUp<arch::UnorderedTsc, false>;
constexpr std::uint32_t kNeverStepBack =
    vvar::bit(vvar::kMonotonic) | vvar::kRawIds | vvar::bit(vvar::kBoottime);
constexpr std::uint32_t kSettable =
    vvar::bit(vvar::kRealtime) | vvar::bit(vvar::kTai) | vvar::bit(vvar::kRealtimeCoarse);
constexpr unsigned kOrderedReaders = 2;
constexpr unsigned kUnorderedReaders = 1;
constexpr unsigned kReaders = kOrderedReaders + kUnorderedReaders;
constexpr unsigned kWriterPauses = 20;
constexpr std::size_t kReadingsInARow = 8;
constexpr std::uint64_t kMostEvents = 10'000'000;  // a reader that serves nothing ends it

enum class Wrong : std::uint8_t { kNothing, kBelow, kAbove, kBackInThread, kBackAcrossThreads };

struct Tally {
  std::uint64_t served = 0;
  std::uint64_t left_to_kernel = 0;
  std::uint64_t wrong = 0;
  Wrong first = Wrong::kNothing;
  vvar::ClockId clock = 0;
  std::int64_t by_ns = 0;
  arch::ClockMode mode = 0;
};

struct Reference {
  std::int64_t ns;
  std::uint64_t sets;
  arch::ClockMode mode;
};

struct Scene {
  FakeKernel& kernel;
  vvar::Binding binding;
  std::atomic<bool> stop{false};
  Gate gate{};
  std::atomic<std::uint64_t> epoch{0};  // counts namespaces entered and left
  std::array<std::atomic<std::int64_t>, 12> newest{};
};

Reference reference(const FakeKernel& kernel, vvar::ClockId id) {
  return kernel.published().with([&](const Snapshot& snapshot) {
    const std::uint64_t tsc = arch::LfenceTsc::read();
    return Reference{static_cast<std::int64_t>(reference_ns(snapshot, id, tsc)),
                     snapshot.times.sets, snapshot.times.source.mode};
  });
}

template <const vvar::BlockLayout& B, arch::Counter C>
bool read_as_exported(const vvar::Binding& binding, vvar::ClockId id, vvar::SecNsec& time) {
  return vvar::read_clock_once<B, C>(binding.data, binding.counters, id, time) ==
             arch::Attempt::kDone ||
         vvar::read_clock<B, C>(binding, id, time);
}

template <const vvar::BlockLayout& B, arch::Counter C>
class Reader {
 public:
  explicit Reader(Scene& scene) : scene_(scene) {}

  void run() {
    std::size_t turn = 0;
    while (!scene_.stop.load(std::memory_order_relaxed)) {
      scene_.gate.pass();
      if (const std::uint64_t epoch = scene_.epoch.load(std::memory_order_relaxed);
          epoch != epoch_) {
        epoch_ = epoch;
        last_.fill(0);
      }
      const vvar::ClockId id = vvar::kServedClocks[turn++ % vvar::kServedClocks.size()].id;
      if (vvar::is_in(id, B.ids)) {
        look(id);
      }
    }
  }

  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] bool has_seen_both() const { return seen_both_.load(std::memory_order_relaxed); }

 private:
  // Several readings in a row between two references, so that some begin while the writer is at
  // work: the reference itself waits until he has finished.
  void look(vvar::ClockId id) {
    const std::int64_t handed_over = scene_.newest[id].load(std::memory_order_acquire);
    const Reference before = reference(scene_.kernel, id);
    std::array<std::int64_t, kReadingsInARow> readings{};
    std::size_t count = 0;
    for (std::int64_t& reading : readings) {
      vvar::SecNsec time{};
      if (read_as_exported<B, C>(scene_.binding, id, time)) {
        reading = static_cast<std::int64_t>(time.sec * vvar::kNsPerSec + time.nsec);
        ++count;
      }
    }
    const Reference after = reference(scene_.kernel, id);
    tally_.served += count;
    tally_.left_to_kernel += kReadingsInARow - count;
    seen_both_.store(tally_.served > 0 && tally_.left_to_kernel > 0, std::memory_order_relaxed);
    for (const std::int64_t reading : readings) {
      if (reading != 0) {
        judge(id, reading, before, after);
        follow(id, reading, handed_over, after);
      }
    }
  }

  void follow(vvar::ClockId id, std::int64_t own, std::int64_t handed_over,
              const Reference& after) {
    if (!vvar::is_in(id, kNeverStepBack)) {
      return;
    }
    if (own < last_[id]) {
      note(Wrong::kBackInThread, id, own - last_[id], after);
    }
    last_[id] = own;
    if constexpr (C::kIsOrdered) {
      if (own < handed_over) {
        note(Wrong::kBackAcrossThreads, id, own - handed_over, after);
      }
      hand_over(scene_.newest[id], own);
    }
  }

  void judge(vvar::ClockId id, std::int64_t own, const Reference& before, const Reference& after) {
    // Before 6.15 the coarse clocks may go back by a hair when NTP steers, and with them the
    // bracket.
    if (vvar::is_in(id, vvar::kCoarseIds) && &B != &vvar::kBlockV) {
      return;
    }
    if (vvar::is_in(id, kSettable) && before.sets != after.sets) {
      return;
    }
    if (own < before.ns) {
      note(Wrong::kBelow, id, own - before.ns, after);
    }
    if (own > after.ns) {
      note(Wrong::kAbove, id, own - after.ns, after);
    }
  }

  static void hand_over(std::atomic<std::int64_t>& newest, std::int64_t own) {
    std::int64_t seen = newest.load(std::memory_order_relaxed);
    while (seen < own && !newest.compare_exchange_weak(seen, own, std::memory_order_acq_rel)) {
    }
  }

  void note(Wrong wrong, vvar::ClockId id, std::int64_t by, const Reference& at) {
    if (tally_.wrong++ == 0) {
      tally_.first = wrong;
      tally_.clock = id;
      tally_.by_ns = by;
      tally_.mode = at.mode;
    }
  }

  Scene& scene_;
  Tally tally_;
  std::atomic<bool> seen_both_{false};
  std::uint64_t epoch_ = 0;
  std::array<std::int64_t, 12> last_{};
};

void swap_namespace(Scene& scene, Random& random) {
  scene.gate.close(kReaders);
  if (scene.kernel.state().in_timens) {
    scene.kernel.leave_timens();
  } else {
    scene.kernel.enter_timens(
        {.monotonic = {static_cast<std::int64_t>(random.below(100'000)), 999'999'999},
         .boottime = {static_cast<std::int64_t>(random.below(100'000)), 1}});
  }
  for (auto& newest : scene.newest) {
    newest.store(0, std::memory_order_relaxed);
  }
  scene.epoch.fetch_add(1, std::memory_order_relaxed);
  scene.gate.open();
}

void some_event(Scene& scene, Random& random) {
  FakeKernel& kernel = scene.kernel;
  switch (random.below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return kernel.use_source_or_none(static_cast<arch::ClockMode>(random.below(4)));
    case 4:
    case 5:
      return kernel.slew(static_cast<std::int32_t>(random.below(200'001)) - 100'000);
    case 6:
    case 10:
    case 11:
      return kernel.update_hypervisor(static_cast<std::int32_t>(random.below(401)) - 200,
                                      random.below(8) != 0);
    case 7:
      return kernel.step(static_cast<std::int64_t>(random.below(2'000'000'000)) - 1'000'000'000);
    case 8:
      return kernel.set_tai_offset(static_cast<std::int64_t>(random.below(60)));
    case 9:
      return random.below(20) == 0 && kernel.layout().timens != vvar::kNoPage
                 ? swap_namespace(scene, random)
                 : kernel.tick();
    default:
      return kernel.tick();
  }
}

void wait_a_little(Random& random) {
  const std::uint64_t begin = arch::LfenceTsc::read();
  const std::uint64_t cycles = random.below(4) == 0 ? 0 : random.below(200'000);
  while (arch::LfenceTsc::read() - begin < cycles) {
    __builtin_ia32_pause();
  }
}

template <const vvar::BlockLayout& B>
void switch_under_readers(const vvar::Layout& layout) {
  Random random;
  CAPTURE(layout.name, random.seed());
  FakeKernel kernel(layout, {.tsc_hz = 2'600'000'000, .real_counter = true});
  Scene scene{.kernel = kernel, .binding = kernel.binding()};
  Reader<B, OrderedTsc> first(scene);
  Reader<B, OrderedTsc> second(scene);
  Reader<B, UnorderedTsc> third(scene);
  std::array<std::thread, kReaders> threads{std::thread([&] { first.run(); }),
                                            std::thread([&] { second.run(); }),
                                            std::thread([&] { third.run(); })};
  std::uint64_t events = 0;
  store_pauses = kWriterPauses;
  const auto end = std::chrono::steady_clock::now() + time_for_threads();
  // On a busy machine a reader may not have run at all by then.
  while (events < kMostEvents &&
         (std::chrono::steady_clock::now() < end || !first.has_seen_both() ||
          !second.has_seen_both() || !third.has_seen_both())) {
    some_event(scene, random);
    wait_a_little(random);
    ++events;
  }
  store_pauses = 0;
  scene.stop.store(true);
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Tally& tally : {first.tally(), second.tally(), third.tally()}) {
    CAPTURE(static_cast<int>(tally.first), tally.clock, tally.by_ns, tally.mode, events);
    CHECK(tally.wrong == 0);
    CHECK(tally.served > 0);
    CHECK(tally.left_to_kernel > 0);
  }
}

}  // namespace

TEST_CASE("threads read every clock right while the clock source changes under them",
          "[switching]") {
  switch_under_readers<vvar::kBlockV>(vvar::kLayouts[0]);
  switch_under_readers<vvar::kBlockDm>(vvar::kLayouts[3]);
  switch_under_readers<vvar::kBlockD>(vvar::kLayouts[4]);
  switch_under_readers<vvar::kBlockD>(vvar::kLayouts[5]);
  switch_under_readers<vvar::kBlockC>(vvar::kLayouts[6]);
  switch_under_readers<vvar::kBlockB>(vvar::kLayouts[7]);
  switch_under_readers<vvar::kBlockBUntil46>(vvar::kLayouts[9]);
  switch_under_readers<vvar::kBlockA>(vvar::kLayouts[13]);
}

}  // namespace vvarclock::test
