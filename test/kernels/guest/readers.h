// Threads that read every clock between two system calls while something else makes clocks jump.
//
// What is demanded of each bracket, and when not:
// - Always: before <= value <= after, and, for clocks that never go back, no step back (between
//   threads where reads are ordered, else within one thread).
// - A wall clock (REALTIME, its coarse form, TAI) set back in the middle of a bracket proves
//   nothing in either direction. Such steps are announced by a generation count, odd while one is
//   made; a bracket that met one is not judged but counted, and the next is taken. The same for the
//   coarse clocks while adjtimex runs: the kernel steps them back by nanoseconds (before 6.15).
// - Over a leap second, which the kernel makes on its own, REALTIME's distance from MONOTONIC is
//   compared before and after the bracket; TAI and all others are judged throughout.
// - When the kernel's own answers step back, the bracket is not judged and the search for steps
//   back starts anew; a note tells how often. It happens while the clock source is acpi_pm and the
//   emulator is starved for seconds: the 24 bits of that counter wrap unseen.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "test/kernels/guest/clocks.h"
#include "test/kernels/guest/result.h"

namespace guest {

class Readers {
 public:
  // What else the coming jumps may do, beyond announced steps of the wall clocks.
  enum class Jumps : std::uint8_t { kSteps, kSlews, kLeap };

  explicit Readers(Result& result) : result_(result), ordered_(order_is_ordered()) {}

  // Reads in two threads until stop. Fails when hardly a bracket could be judged.
  void start(const char* scenario, Jumps jumps);
  void stop();

  // Longest time that passed between two reads of MONOTONIC in one thread, since start.
  [[nodiscard]] Nanoseconds longest_gap() const { return longest_gap_; }
  [[nodiscard]] std::uint64_t brackets() const { return judged_total_; }
  // How often the kernel's own answers stepped back.
  [[nodiscard]] std::uint64_t kernel_steps_back() const { return kernel_steps_back_; }

  // In force while a step is being made.
  class Step {
   public:
    explicit Step(Readers& readers) : readers_(readers) { ++readers_.generation_; }
    ~Step() { ++readers_.generation_; }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Readers& readers_;
  };

 private:
  static constexpr std::size_t kClocks = vvarclock::vvar::kServedClocks.size();
  using Latest = std::array<Nanoseconds, kClocks>;

  void read_all();
  void read_one(std::size_t clock, Latest& own);
  [[nodiscard]] bool never_goes_back(std::uint32_t id) const;
  [[nodiscard]] bool may_be_stepped(std::uint32_t id) const;
  // Known of a clock when a bracket began: the latest value read, the kernel's latest answer.
  struct Seen {
    Nanoseconds value;
    Nanoseconds kernels;
  };
  [[nodiscard]] bool kernel_stepped_back(std::size_t clock, const Bracket& b, const Seen& seen);
  void judge(std::size_t clock, const Bracket& b, Nanoseconds seen);
  void remember(std::size_t clock, const Bracket& b, Latest& own);

  Result& result_;
  const bool ordered_;
  const char* scenario_ = "";
  Jumps jumps_ = Jumps::kSteps;
  std::vector<std::thread> threads_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> generation_{0};
  std::array<std::atomic<Nanoseconds>, kClocks> latest_{};
  std::array<std::atomic<Nanoseconds>, kClocks> latest_of_kernel_{};
  std::atomic<std::uint64_t> kernel_steps_back_{0};
  std::atomic<Nanoseconds> longest_gap_{0};
  std::atomic<std::uint64_t> judged_{0};
  std::atomic<std::uint64_t> unjudged_{0};
  std::uint64_t judged_total_ = 0;
};

}  // namespace guest
