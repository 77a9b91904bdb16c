// A gate that stops reader threads between two readings, so that something may be done which the
// kernel allows a task only while nobody else runs.
#pragma once

#include <atomic>
#include <thread>

namespace vvarclock::test {

class Gate {
 public:
  // A reader's side: returns at once while the gate is open.
  void pass() noexcept {
    if (closed_.load(std::memory_order_acquire)) {
      waiting_.fetch_add(1, std::memory_order_acq_rel);
      while (closed_.load(std::memory_order_acquire)) {
        std::this_thread::yield();
      }
      waiting_.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  // The other side: returns when all `readers` stand. They must all come by, so none may have
  // ended.
  void close(unsigned readers) noexcept {
    closed_.store(true, std::memory_order_release);
    while (waiting_.load(std::memory_order_acquire) != readers) {
      std::this_thread::yield();
    }
  }

  // Returns when all have left, so that the next close counts from nought.
  void open() noexcept {
    closed_.store(false, std::memory_order_release);
    while (waiting_.load(std::memory_order_acquire) != 0) {
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<bool> closed_{false};
  std::atomic<unsigned> waiting_{0};
};

}  // namespace vvarclock::test
