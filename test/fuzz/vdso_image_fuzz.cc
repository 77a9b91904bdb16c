// libFuzzer target: any bytes as a vDSO image. The parser and the code scan may not fault, stray or
// point outside.
//
// The input is copied to the end of read-only pages, so that straying is a fault even where the
// sanitizer does not see it (in libelf). A good seed: any image of test/support/image_builder.h, or
// the live vDSO.
#include <cstdint>
#include <cstdlib>

#include "core/discover/code_hints.h"
#include "core/discover/vdso_image.h"
#include "test/support/guarded_bytes.h"

namespace {

using vvarclock::discover::Function;
using vvarclock::discover::VdsoImage;

void check(const Function& function, const VdsoImage& image) {
  const auto text = static_cast<std::uint64_t>(image.text.data() - image.bytes.data());
  if (function.size != 0 &&
      (function.offset < text || function.offset + function.size > text + image.text.size())) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const vvarclock::test::GuardedBytes guarded({reinterpret_cast<const std::byte*>(data), size});
  if (vvarclock::discover::claimed_image_size(guarded.get()) > vvarclock::discover::kMaxImageSize) {
    std::abort();
  }
  VdsoImage image;
  if (vvarclock::discover::parse_vdso_image(guarded.get(), image) !=
      vvarclock::discover::ImageError::kNone) {
    return 0;
  }
  for (const Function& function :
       {image.clock_gettime, image.gettimeofday, image.time, image.clock_getres}) {
    check(function, image);
  }
  const vvarclock::discover::CodeHints hints = vvarclock::discover::scan_code(image);
  if (hints.data > 0 || hints.data < -0x10000) {
    std::abort();
  }
  return 0;
}
