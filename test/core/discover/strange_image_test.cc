// Guards against: a fault, a read outside the image or a result outside it, on an image whose
// fields lie.
//
// Every image sits in read-only memory with a page behind it that may not be touched: straying is a
// crash.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/discover/code_hints.h"
#include "core/discover/vdso_image.h"
#include "test/support/catch.h"
#include "test/support/image_builder.h"
#include "test/support/random.h"

namespace vvarclock::discover {
namespace {

using test::GuardedBytes;
using test::ImageSpec;

bool within(const Function& function, const VdsoImage& image) {
  const auto text = static_cast<std::uint64_t>(image.text.data() - image.bytes.data());
  return function.size == 0 ||
         (function.offset >= text && function.offset - text < image.text.size() &&
          function.size <= text + image.text.size() - function.offset);
}

// Parses and scans. False when a result points outside the image.
bool survives(std::span<const std::byte> bytes, arch::CodeWidth width, ImageError& error) {
  VdsoImage image;
  static_cast<void>(claimed_image_size(bytes, width));
  error = parse_vdso_image(bytes, image, width);
  if (error != ImageError::kNone) {
    return true;
  }
  static_cast<void>(scan_code(image));
  const auto size = static_cast<std::ptrdiff_t>(bytes.size());
  return image.bytes.size() <= bytes.size() && image.text.data() >= bytes.data() &&
         image.text.data() + image.text.size() <= bytes.data() + size &&
         within(image.clock_gettime, image) && within(image.gettimeofday, image) &&
         within(image.time, image) && within(image.clock_getres, image);
}

// One image for each way of counting symbols, in both widths.
std::vector<ImageSpec> specs() {
  std::vector<ImageSpec> all;
  for (const arch::CodeWidth width : {arch::CodeWidth::k64, arch::CodeWidth::k32}) {
    std::vector<ImageSpec> four(4, test::vdso_like(vvar::kLayouts[0], width));
    four[1].dt_hash = false;
    four[2].dt_hash = four[2].dt_gnu_hash = false;
    four[3].dt_hash = four[3].dt_gnu_hash = four[3].section_headers = false;
    four[3].link_base = width == arch::CodeWidth::k64 ? 0xffffffffff700000 : 0xffffe000;
    all.insert(all.end(), four.begin(), four.end());
  }
  return all;
}

std::size_t section_headers_of(const ImageSpec& spec, const std::vector<std::byte>& image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  Elf32_Ehdr narrow;
  std::memcpy(&narrow, image.data(), sizeof narrow);
  return spec.width == arch::CodeWidth::k64 ? header.e_shoff : narrow.e_shoff;
}

TEST_CASE("images cut short anywhere") {
  for (const ImageSpec& spec : specs()) {
    const std::vector<std::byte> whole = test::build_image(spec);
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      ImageError error{};
      const GuardedBytes cut(std::span<const std::byte>(whole).first(size));
      const bool sane = survives(cut.get(), spec.width, error);
      if (!sane || (size < spec.text_offset && error == ImageError::kNone)) {
        FAIL("cut to " << size << " of " << whole.size() << " bytes: " << describe(error));
      }
      if (size == whole.size()) {
        CHECK(error == ImageError::kNone);
      }
    }
  }
}

// Values that make bounds checks fail: ends of the number range, sizes and offsets at and around
// the image's end.
template <class T>
std::vector<T> awkward(std::size_t image_size) {
  std::vector<T> values{0, 1, 2, 3, 4, 7, 8, 16, 24, 63, 64, 0x7f, 0xff};
  for (int shift = 8; shift < static_cast<int>(8 * sizeof(T)); shift += 7) {
    values.push_back(static_cast<T>(std::uint64_t{1} << shift));
  }
  for (unsigned back = 0; back < 3; ++back) {
    values.push_back(static_cast<T>(~std::uint64_t{0} - 8U * back));
    values.push_back(static_cast<T>((~std::uint64_t{0} >> 1) - back));
    values.push_back(static_cast<T>(image_size + 1 - back));
    values.push_back(static_cast<T>(image_size - 8U * back));
    values.push_back(static_cast<T>(std::uint64_t{0} - image_size + back));
  }
  return values;
}

template <class T>
long mutate(const GuardedBytes& image, arch::CodeWidth width, std::size_t from, std::size_t to) {
  long parsed = 0;
  const std::vector<T> values = awkward<T>(image.get().size());
  for (std::size_t at = from; at + sizeof(T) <= to; at += sizeof(T)) {
    std::byte* field = image.writable().data() + at;
    T right;
    std::memcpy(&right, field, sizeof right);
    for (const T value : values) {
      std::memcpy(field, &value, sizeof value);
      ImageError error{};
      if (!survives(image.get(), width, error)) {
        FAIL("value " << +value << " of " << sizeof value << " bytes at " << at);
      }
      parsed += error == ImageError::kNone ? 1 : 0;
    }
    std::memcpy(field, &right, sizeof right);
  }
  return parsed;
}

TEST_CASE("every field of headers and tables set to every awkward value") {
  for (const ImageSpec& spec : specs()) {
    const std::vector<std::byte> whole = test::build_image(spec);
    const std::size_t told = section_headers_of(spec, whole);
    const std::size_t sections = told != 0 ? told : whole.size();
    const GuardedBytes image(whole);
    for (const auto& [from, to] : {std::pair{std::size_t{0}, std::size_t{spec.text_offset}},
                                   std::pair{sections, whole.size()}}) {
      long parsed = mutate<std::uint16_t>(image, spec.width, from, to);
      parsed += mutate<std::uint32_t>(image, spec.width, from, to);
      parsed += mutate<std::uint64_t>(image, spec.width, from, to);
      CHECK((parsed > 0 || from == to));  // most fields matter to nobody: the images stay usable
    }
  }
}

TEST_CASE("several random fields at once, headers first") {
  test::Random random;
  CAPTURE(random.seed());
  for (const ImageSpec& spec : specs()) {
    const std::vector<std::byte> whole = test::build_image(spec);
    const GuardedBytes image(whole);
    for (int round = 0; round < 5000; ++round) {
      std::copy(whole.begin(), whole.end(), image.writable().begin());
      for (std::uint64_t i = 1 + random.below(6); i > 0; --i) {
        const std::uint64_t value = random.edgy_u64();
        const std::size_t width = std::size_t{1} << random.below(4);
        const std::size_t at = random.below(spec.text_offset - width);
        std::memcpy(image.writable().data() + at, &value, width);
      }
      ImageError error{};
      if (!survives(image.get(), spec.width, error)) {
        FAIL("round " << round);
      }
    }
  }
}

}  // namespace
}  // namespace vvarclock::discover
