// A page of an older generation that follows this machine's own: what a kernel before 5.3 would
// show here, so that the system call is the truth about what is made of it.
//
// A thread copies the fields of block 0 after every update of the live page, under a sequence count
// of the mirror's own. It is late by what its CPU was elsewhere, as a kernel is whose update is
// overdue. Or copy() does so when it is called, which must be every few ticks. The hypervisor pages
// are the live ones.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "arch/load.h"
#include "core/discover/discovery.h"
#include "core/serve/raw_reader.h"
#include "core/serve/report.h"
#include "core/vvar/binding.h"
#include "core/vvar/layout.h"
#include "core/vvar/read_clock.h"
#include "test/support/page_store.h"

namespace vvarclock::test {

// Why this machine's page is no use to a test of the raw clock's line; null: it is.
inline const char* why_no_raw_line(const discover::Discovery& found) {
  if (found.outcome != discover::Outcome::kBound) {
    return "no page is believed here";
  }
  if (serve::in_time_namespace(found)) {
    return "this is a time namespace";
  }
  const serve::Options options;
  const serve::Report report{&found, &options, arch::Ordering::kLfence, true, true};
  return serve::service(report, vvar::kMonotonic) == serve::Service::kReader &&
                 serve::has_raw_line(serve::clock_mode_now(found))
             ? nullptr
             : "the clock mode has no counter for a line";
}

class MirroredPage {
 public:
  enum class Copies : std::uint8_t { kByThread, kWhenCalled };

  // live: a believed page, outside a time namespace.
  MirroredPage(const vvar::Binding& live, const vvar::BlockLayout& live_block,
               const vvar::BlockLayout& block, Copies copies = Copies::kByThread)
      : live_(live), live_block_(live_block), block_(block) {
    copy();
    if (copies == Copies::kByThread) {
      thread_ = std::thread([this] { follow(); });
    }
  }
  ~MirroredPage() {
    stop_.store(true);
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  MirroredPage(const MirroredPage&) = delete;
  MirroredPage& operator=(const MirroredPage&) = delete;

  [[nodiscard]] vvar::Binding binding() const {
    vvar::Binding binding;
    binding.data = page_.data();
    binding.counters = live_.counters;
    binding.timezone = kTimezone;
    binding.coarse_resolution = live_.coarse_resolution;
    return binding;
  }

  void copy() {
    store(page_.data(), block_.seq, ++seq_);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    vvar::SeqMode begin = vvar::look(live_.data, live_block_);
    do {
      begin = vvar::look(live_.data, live_block_);
      store(page_.data(), block_.mode, begin.mode());
      take<std::uint64_t>(live_block_.cycle_last, block_.cycle_last);
      take<std::uint64_t>(live_block_.mask, block_.mask);
      take<std::uint32_t>(live_block_.mult, block_.mult);
      take<std::uint32_t>(live_block_.shift, block_.shift);
      for (const vvar::NamedClock& clock : vvar::kServedClocks) {
        if (vvar::is_in(clock.id, block_.ids)) {
          take<std::uint64_t>(live_block_.sec(clock.id), block_.sec(clock.id));
          take<std::uint64_t>(live_block_.nsec(clock.id), block_.nsec(clock.id));
        }
      }
    } while (begin.being_written() || vvar::has_moved(begin, live_.data, live_block_));
    std::atomic_thread_fence(std::memory_order_seq_cst);
    store(page_.data(), block_.seq, ++seq_);
  }

 private:
  static constexpr std::uint16_t kTimezone = 1024;

  void follow() {
    std::uint32_t seen = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      const std::uint32_t seq = vvar::look(live_.data, live_block_).seq();
      if (seq != seen) {
        copy();
        seen = seq;
      }
      std::this_thread::yield();
    }
  }

  template <class T>
  void take(std::size_t from, std::size_t to) {
    store(page_.data(), to, arch::load<T>(live_.data, from));
  }

  vvar::Binding live_;
  const vvar::BlockLayout& live_block_;
  const vvar::BlockLayout& block_;
  alignas(64) std::array<std::byte, 2048> page_{};
  std::uint32_t seq_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace vvarclock::test
