// The clock functions of 32-bit images for image_builder.h.
#pragma once

#include "test/support/image_builder.h"

namespace vvarclock::test {

ImageSpec vdso_like_32(const vvar::Layout& layout);

}  // namespace vvarclock::test
