// The reader's side of the kernel's sequence count, with the clock mode: in one
// 8-byte load where the machine has such loads, right behind seq elsewhere.
//
// Writer (kernel/time/vsyscall.c): seq becomes odd, data, seq becomes even. A
// reader takes one look at the start and one at the end; equal and even means
// that everything between belongs together. In a time namespace the page in
// place of the data page has seq 1 for ever and the mode that marks it, so the
// mark is looked for only where seq is odd.
//
// Where both are one load, the mode is compared at the end together with seq,
// which costs nothing. Elsewhere (32-bit machines; kernels before 3.15, which
// keep the mode apart) seq is loaded before the mode and compared at the end:
// that the mode belongs to it follows from the protocol, as for every field.
// Depends on arch/ alone. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "arch/halves.h"
#include "arch/load.h"
#include "arch/x86/clock_mode.h"

namespace vvarclock::vvar {

class SeqMode {
 public:
  // seq, with the mode in the next four bytes.
  [[gnu::always_inline]] static SeqMode begin(const std::byte* seq) noexcept {
    if constexpr (kOneLoad) {
      return SeqMode(Word(arch::load<std::uint64_t>(seq)));
    } else {
      return begin(seq, seq + sizeof(std::uint32_t));
    }
  }
  [[nodiscard, gnu::always_inline]] bool changed(const std::byte* seq) const noexcept {
    if constexpr (kOneLoad) {
      return Word(arch::load<std::uint64_t>(seq)) != word_;
    } else {
      return seq_changed(seq);
    }
  }

  // seq and mode apart.
  [[gnu::always_inline]] static SeqMode begin(const std::byte* seq,
                                              const std::byte* mode) noexcept {
    const std::uint64_t low = arch::load<std::uint32_t>(seq);
    const auto high = arch::load<std::uint32_t>(mode);
    return SeqMode(Word(low | std::uint64_t{high} << 32));
  }
  [[nodiscard, gnu::always_inline]] bool seq_changed(const std::byte* seq) const noexcept {
    return arch::load<std::uint32_t>(seq) != this->seq();
  }

  [[nodiscard]] std::uint32_t seq() const noexcept { return arch::low_half(word_); }
  [[nodiscard]] arch::ClockMode mode() const noexcept {
    return static_cast<arch::ClockMode>(arch::high_half(word_));
  }
  [[nodiscard]] bool being_written() const noexcept { return (seq() & 1) != 0; }
  [[nodiscard]] bool marks_timens() const noexcept { return seq() == 1 && arch::is_timens(mode()); }

 private:
  static constexpr bool kOneLoad = !arch::kTwoRegisters;
  using Word = std::conditional_t<kOneLoad, std::uint64_t, arch::Halves>;
  explicit SeqMode(Word word) noexcept : word_(word) {}
  Word word_;
};

}  // namespace vvarclock::vvar
