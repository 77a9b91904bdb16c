// From the start of the vDSO to a binding, or to the reason why there is none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/discover/code_hints.h"
#include "core/discover/kernel.h"
#include "core/discover/layout_probe.h"
#include "core/discover/vdso_image.h"

namespace vvarclock::discover {

enum class Outcome : std::uint8_t {
  kBound,       // a layout is believed
  kNoVdso,      // the auxiliary vector names none (valgrind, qemu-user, vdso=0)
  kUnreadable,  // what it names cannot be read
  kBadImage,    // see image_error
  kNoLayout,    // every known layout was refused: see refusals
};

const char* describe(Outcome outcome) noexcept;

// What the counter said at the end of each step, for who wants to know what the looking costs; 0
// for steps that were not reached or when the counter may not be read.
struct StepEnds {
  std::uint64_t begin = 0;
  std::uint64_t image = 0;    // found readable
  std::uint64_t parsed = 0;   // as ELF
  std::uint64_t scanned = 0;  // its code
  std::uint64_t probed = 0;   // the layouts
};

struct Discovery {
  Outcome outcome = Outcome::kNoVdso;
  ImageError image_error = ImageError::kNone;
  VdsoImage image;  // image.bytes.data() is the vDSO's address
  CodeHints hints;
  const vvar::Layout* layout = nullptr;  // the believed one
  bool confirmed_by_code =
      false;  // every hint was there and agreed; else the declared offsets led to it
  vvar::Binding binding;
  std::array<Refusal, vvar::kLayouts.size()> refusals{};
  std::size_t refusal_count = 0;
  StepEnds step_ends;
};

// The address that the auxiliary vector gives (AT_SYSINFO_EHDR), or null.
const std::byte* vdso_address() noexcept;

// Looks for a layout to believe. Candidates that the code names come first. Never faults, leaves no
// descriptor, reads no file. Allocates through libelf; errno may change. W: of the image; only a
// simulation has another than its own.
template <arch::CodeWidth W>
Discovery discover_of(const Kernel& kernel, const std::byte* vdso, Effort effort) noexcept;

inline Discovery discover(const Kernel& kernel, const std::byte* vdso, Effort effort) noexcept {
  return discover_of<arch::kOwnWidth>(kernel, vdso, effort);
}

}  // namespace vvarclock::discover
