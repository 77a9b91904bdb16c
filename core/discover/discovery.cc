#include "core/discover/discovery.h"

#include <sys/auxv.h>

#include "arch/x86/page.h"

namespace vvarclock::discover {
namespace {

using arch::kPageSize;

// The image as far as it claims to go and can be read; empty when not even its first page can be.
std::span<const std::byte> mapped_image(const Kernel& kernel, const std::byte* vdso,
                                        arch::CodeWidth width) noexcept {
  if (!kernel.readable(vdso)) {
    return {};
  }
  const std::size_t claimed = claimed_image_size({vdso, kPageSize}, width);
  std::size_t mapped = kPageSize;
  while (mapped < claimed && kernel.readable(vdso + mapped)) {
    mapped += kPageSize;
  }
  return {vdso, claimed < mapped ? claimed : mapped};
}

// Tries the layouts of the image's width that `wanted` selects; true when one is believed.
template <class Wanted>
bool try_layouts(Discovery& found, const Probe& probe, Wanted wanted) noexcept {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    if (!layout.is_for(found.image.width) || !wanted(layout)) {
      continue;
    }
    const Refusal refusal = probe_layout(probe, layout, found.binding);
    if (refusal.test == ProbeTest::kPassed) {
      found.layout = &layout;
      return true;
    }
    found.refusals[found.refusal_count++] = refusal;
  }
  return false;
}

}  // namespace

const std::byte* vdso_address() noexcept {
  return reinterpret_cast<const std::byte*>(::getauxval(AT_SYSINFO_EHDR));
}

template <arch::CodeWidth W>
Discovery discover_of(const Kernel& kernel, const std::byte* vdso, Effort effort) noexcept {
  Discovery found;
  if (vdso == nullptr) {
    return found;
  }
  const auto counter = [&] { return kernel.counter == nullptr ? 0 : kernel.counter(); };
  found.step_ends.begin = counter();
  const std::span<const std::byte> bytes = mapped_image(kernel, vdso, W);
  if (bytes.empty()) {
    found.outcome = bytes.data() == nullptr ? Outcome::kUnreadable : Outcome::kBadImage;
    found.image_error = ImageError::kNotElf;
    return found;
  }
  found.step_ends.image = counter();
  found.image_error = parse_vdso_image(bytes, found.image, W);
  found.step_ends.parsed = counter();
  if (found.image_error != ImageError::kNone) {
    found.outcome = Outcome::kBadImage;
    return found;
  }
  found.hints = scan_code_of<W>(found.image);
  found.step_ends.scanned = counter();
  const Probe probe{&kernel, {vdso, arch::whole_pages(bytes.size())}, found.hints, effort};
  const auto confirmed = [&](const vvar::Layout& layout) {
    return judge(found.hints, layout) == HintVerdict::kConfirms;
  };
  found.confirmed_by_code = try_layouts(found, probe, confirmed);
  const bool bound =
      found.confirmed_by_code ||
      try_layouts(found, probe, [&](const vvar::Layout& layout) { return !confirmed(layout); });
  found.step_ends.probed = counter();
  found.outcome = bound ? Outcome::kBound : Outcome::kNoLayout;
  return found;
}

template Discovery discover_of<arch::CodeWidth::k32>(const Kernel& kernel, const std::byte* vdso,
                                                     Effort effort) noexcept;
template Discovery discover_of<arch::CodeWidth::k64>(const Kernel& kernel, const std::byte* vdso,
                                                     Effort effort) noexcept;

}  // namespace vvarclock::discover
