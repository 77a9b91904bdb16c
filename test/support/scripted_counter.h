// A counter that says what a test wants it to say, and counts how often it was asked.
//
// The counter of a reader is read in the middle of its protocol, so a script can also be the other
// party there: it may change the page or the record before it answers. The state is static because
// a Counter is a stateless type: one script at a time, one thread. A script must not throw and so
// must not assert; note what it saw and assert afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "arch/counter.h"

namespace vvarclock::test {

class ScriptedCounter {
 public:
  // Gets the number of reads before this one (0 for the first), returns the count.
  using Script = std::function<std::uint64_t(std::uint64_t)>;

  // Each of these three replaces the script and starts counting anew.
  static void run(Script script) {
    script_ = std::move(script);
    reads_ = 0;
  }

  static void always(std::uint64_t value) {
    run([value](std::uint64_t) { return value; });
  }

  // One after the other; the last one for ever.
  static void play(std::vector<std::uint64_t> values) {
    run([values = std::move(values)](std::uint64_t reads) {
      return values[reads < values.size() ? static_cast<std::size_t>(reads) : values.size() - 1];
    });
  }

  static std::uint64_t reads() noexcept { return reads_; }

  static std::uint64_t read() noexcept { return script_(reads_++); }

 private:
  inline static Script script_ = [](std::uint64_t) { return std::uint64_t{0}; };
  inline static std::uint64_t reads_ = 0;
};

static_assert(arch::Counter<ScriptedCounter>);

}  // namespace vvarclock::test
