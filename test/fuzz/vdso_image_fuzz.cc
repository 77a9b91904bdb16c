// Guards against: an image parser or a code scan that faults, strays, never ends, or points outside
// the image, on bytes that no kernel would give out.
//
// A libFuzzer target (scripts/fuzz) for core/discover/vdso_image.h and code_hints.h. The input is
// copied to the end of read-only pages, so that straying is a fault even where the sanitizer does
// not see it (in libelf). The scan sees the code of images that parse; and as those are few, it
// sees every input as bare code, too.
#include <cstdint>
#include <cstdlib>

#include "core/discover/code_hints.h"
#include "core/discover/vdso_image.h"
#include "test/support/guarded_bytes.h"

namespace {

using vvarclock::arch::CodeWidth;
using vvarclock::discover::Function;
using vvarclock::discover::VdsoImage;

void scan(const VdsoImage& image) {
  const vvarclock::discover::CodeHints hints = vvarclock::discover::scan_code(image);
  const bool absolute = hints.anchor != vvarclock::vvar::Anchor::kImage;
  if (!absolute && (hints.data > 0 || hints.data < -0x10000)) {
    std::abort();
  }
}

// The bytes as the text of an image whose clock functions begin and end where the first bytes say.
void scan_as_code(std::span<const std::byte> bytes, CodeWidth width) {
  if (bytes.size() < 8) {
    return;
  }
  VdsoImage image;
  image.width = width;
  image.bytes = bytes;
  image.text = bytes;
  Function* const functions[] = {&image.clock_gettime, &image.gettimeofday, &image.time,
                                 &image.clock_getres};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t begin = std::to_integer<std::size_t>(bytes[2 * i]) % bytes.size();
    const std::size_t rest = bytes.size() - begin;
    *functions[i] = {begin, std::to_integer<std::size_t>(bytes[2 * i + 1]) * 32 % (rest + 1)};
  }
  scan(image);
}

void check(const Function& function, const VdsoImage& image) {
  const auto text = static_cast<std::uint64_t>(image.text.data() - image.bytes.data());
  if (function.size != 0 &&
      (function.offset < text || function.offset + function.size > text + image.text.size())) {
    std::abort();
  }
}

void parse(std::span<const std::byte> bytes, CodeWidth width) {
  if (vvarclock::discover::claimed_image_size(bytes, width) > vvarclock::discover::kMaxImageSize) {
    std::abort();
  }
  VdsoImage image;
  if (vvarclock::discover::parse_vdso_image(bytes, image, width) !=
      vvarclock::discover::ImageError::kNone) {
    return;
  }
  for (const Function& function :
       {image.clock_gettime, image.gettimeofday, image.time, image.clock_getres}) {
    check(function, image);
  }
  scan(image);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const vvarclock::test::GuardedBytes guarded({reinterpret_cast<const std::byte*>(data), size});
  for (const CodeWidth width : {CodeWidth::k32, CodeWidth::k64}) {
    scan_as_code(guarded.get(), width);
    parse(guarded.get(), width);
  }
  return 0;
}
