// The reader's side of the kernel's sequence count, with the clock mode in the
// same 8-byte load.
//
// Writer (kernel/time/vsyscall.c): seq becomes odd, data, seq becomes even. A
// reader takes one look at the start and one at the end; equal and even means
// that everything between belongs together. In a time namespace the page in
// place of the data page has seq 1 for ever and the mode that marks it, so the
// mark is looked for only where seq is odd.
//
// The mode is compared at the end together with seq, which costs nothing and
// makes a mode without its seq impossible. Kernels before 3.15 keep the mode
// elsewhere; there only seq is compared. Depends on arch/load.h and the mode
// numbers. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/load.h"
#include "arch/x86/clock_mode.h"

namespace vvarclock::vvar {

class SeqMode {
 public:
  // seq, with the mode in the next four bytes.
  [[gnu::always_inline]] static SeqMode begin(const std::byte* seq) noexcept {
    return SeqMode(arch::load<std::uint64_t>(seq));
  }
  [[nodiscard, gnu::always_inline]] bool changed(const std::byte* seq) const noexcept {
    return arch::load<std::uint64_t>(seq) != word_;
  }

  // seq and mode apart.
  [[gnu::always_inline]] static SeqMode begin(const std::byte* seq,
                                              const std::byte* mode) noexcept {
    const std::uint64_t low = arch::load<std::uint32_t>(seq);
    return SeqMode(low | std::uint64_t{arch::load<std::uint32_t>(mode)} << 32);
  }
  [[nodiscard, gnu::always_inline]] bool seq_changed(const std::byte* seq) const noexcept {
    return arch::load<std::uint32_t>(seq) != static_cast<std::uint32_t>(word_);
  }

  [[nodiscard]] std::uint32_t seq() const noexcept { return static_cast<std::uint32_t>(word_); }
  [[nodiscard]] arch::ClockMode mode() const noexcept {
    return static_cast<arch::ClockMode>(word_ >> 32);
  }
  [[nodiscard]] bool being_written() const noexcept { return (word_ & 1) != 0; }
  [[nodiscard]] bool marks_timens() const noexcept { return seq() == 1 && arch::is_timens(mode()); }

 private:
  explicit SeqMode(std::uint64_t word) noexcept : word_(word) {}
  std::uint64_t word_;
};

}  // namespace vvarclock::vvar
