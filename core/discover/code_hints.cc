// Hints from the code of the clock functions; see code_hints.h. Depends on the image and on the
// scan of this machine's code.
#include "core/discover/code_hints.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "arch/x86/code_refs.h"
#include "arch/x86/page.h"

namespace vvarclock::discover {
namespace {

using arch::CodeExtent;
using arch::CodeRef;
using arch::CodeRefKind;

constexpr std::int64_t kPage = arch::kPageSize;
// The kernel maps its pages right before the image, 6 at most so far. What points further away is
// none of them.
constexpr std::int64_t kWindow = 16 * kPage;
// 3.16 maps the data page and the HPET's right after the image.
constexpr std::int64_t kPagesBehind = 2;
// Until 3.15 the data page is in the kernel's fixed mappings, the HPET's page right before it.
constexpr std::int64_t kFixedLowest = -0xa02000;
constexpr std::int64_t kFixedEnd = -0xa00000;
// The main counter, in the page of an HPET.
constexpr std::int64_t kHpetCounter = 0xf0;
// What getcpu needs, in the data page before its block (3.10 - 3.18): the readers of pvclock
// records use it.
constexpr std::int64_t kGetcpuMode = 0x10;
// A helper whose end is not seen is not followed for ever.
constexpr std::size_t kLongestHelper = 0x800;

// Sizes of a clock block, in every generation and on every machine.
constexpr std::array<std::int64_t, 4> kStrides{0xe0, 0xe8, 0xf0, 0xf8};
// The last clock id of the timekeeping core, and of the auxiliary clocks.
constexpr std::array<std::int64_t, 2> kHighestIds{15, 23};

template <std::size_t N>
bool contains(const std::array<std::int64_t, N>& values, std::int64_t value) noexcept {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// A list that forgets what no longer fits: a missing hint is allowed, a wrong one is not.
template <std::size_t N>
class ShortList {
 public:
  void add(std::int64_t value) noexcept {
    if (size_ < N && std::find(begin(), end(), value) == end()) {
      values_[size_++] = value;
    }
  }
  void add_all(const ShortList& others) noexcept {
    for (const std::int64_t value : others) {
      add(value);
    }
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] const std::int64_t* begin() const noexcept { return values_.data(); }
  [[nodiscard]] const std::int64_t* end() const noexcept { return values_.data() + size_; }

 private:
  std::array<std::int64_t, N> values_{};
  std::size_t size_ = 0;
};

// What one clock function and its helpers refer to.
struct Findings {
  ShortList<96> pages;     // targets before the image, in the window; 32-bit code has most
  ShortList<32> leas;      // those of them whose address is taken
  ShortList<96> behind;    // targets right after the image
  ShortList<64> fixed;     // fixed addresses of the kernel
  ShortList<4> strides;    // constants that may be a stride
  std::int64_t limit = 0;  // highest clock id

  void merge(const Findings& other) noexcept {
    pages.add_all(other.pages);
    leas.add_all(other.leas);
    behind.add_all(other.behind);
    fixed.add_all(other.fixed);
    strides.add_all(other.strides);
    limit = std::max(limit, other.limit);
  }
};

class Scan {
 public:
  explicit Scan(const VdsoImage& image) noexcept
      : image_(image),
        text_begin_(static_cast<std::size_t>(image.text.data() - image.bytes.data())),
        text_end_(text_begin_ + image.text.size()),
        image_end_(static_cast<std::int64_t>(arch::whole_pages(image.bytes.size()))) {}

  // `function` and, one level down, what it calls or jumps to: the readers of the hypervisor pages,
  // and the parts that a compiler has moved out of it.
  template <arch::CodeWidth W>
  Findings run(const Function& function) const noexcept {
    Findings findings;
    if (function.size == 0) {
      return findings;
    }
    ShortList<16> helpers;
    const auto note = [&](const CodeRef& ref) {
      if (ref.kind == CodeRefKind::kLeaves) {
        helpers.add(ref.value);
      }
      collect(ref, findings);
    };
    const auto start = static_cast<std::size_t>(function.offset);
    arch::visit_code_refs<W>(image_.bytes, start, start + static_cast<std::size_t>(function.size),
                             CodeExtent::kWholeStretch, note);
    for (const std::int64_t helper : helpers) {
      if (helper < static_cast<std::int64_t>(text_begin_) ||
          helper >= static_cast<std::int64_t>(text_end_)) {
        continue;
      }
      const auto begin = static_cast<std::size_t>(helper);
      arch::visit_code_refs<W>(image_.bytes, begin, std::min(text_end_, begin + kLongestHelper),
                               CodeExtent::kUntilReturn,
                               [&](const CodeRef& ref) { collect(ref, findings); });
    }
    return findings;
  }

 private:
  void collect(const CodeRef& ref, Findings& findings) const noexcept {
    switch (ref.kind) {
      case CodeRefKind::kAddress:
      case CodeRefKind::kMemory:
        if (ref.value < 0 && ref.value >= -kWindow) {
          findings.pages.add(ref.value);
          if (ref.kind == CodeRefKind::kAddress) {
            findings.leas.add(ref.value);
          }
        } else if (ref.value >= image_end_ && ref.value < image_end_ + kPagesBehind * kPage) {
          findings.behind.add(ref.value - image_end_);
        }
        break;
      case CodeRefKind::kFixed:
        if (ref.value >= kFixedLowest && ref.value < kFixedEnd) {
          findings.fixed.add(ref.value);
        }
        break;
      case CodeRefKind::kStep:
        if (contains(kStrides, ref.value)) {
          findings.strides.add(ref.value);
        }
        break;
      case CodeRefKind::kLimit:
        if (contains(kHighestIds, ref.value)) {
          findings.limit = std::max(findings.limit, ref.value);
        }
        break;
      case CodeRefKind::kLeaves:
        break;
    }
  }

  const VdsoImage& image_;
  std::size_t text_begin_;
  std::size_t text_end_;
  std::int64_t image_end_;
};

constexpr std::int64_t page_of(std::int64_t address) noexcept { return address & -kPage; }
constexpr bool is_hpet_counter(std::int64_t address) noexcept {
  return address - page_of(address) == kHpetCounter;
}

// Of the page of `value`, is nothing but an HPET's counter read?
template <std::size_t N>
bool is_in_hpet_page(const ShortList<N>& values, std::int64_t value) noexcept {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t other) {
    return page_of(other) != page_of(value) || is_hpet_counter(other);
  });
}

// The lowest reference to a block of clock data: 0 when there is none.
template <std::size_t N>
std::int64_t lowest_data(const ShortList<N>& values) noexcept {
  std::int64_t found = 0;
  for (const std::int64_t value : values) {
    const bool no_data = value - page_of(value) == kGetcpuMode || is_in_hpet_page(values, value);
    if (!no_data && (found == 0 || value < found)) {
      found = value;
    }
  }
  return found;
}

template <std::size_t N>
bool reads_hpet(const ShortList<N>& values) noexcept {
  return std::any_of(values.begin(), values.end(),
                     [&](std::int64_t value) { return is_in_hpet_page(values, value); });
}

// The furthest reference of the data's page, from the data.
template <std::size_t N>
std::int64_t tail(const ShortList<N>& values, std::int64_t data) noexcept {
  std::int64_t furthest = 0;
  for (const std::int64_t value : values) {
    if (data != 0 && page_of(value) == page_of(data)) {
      furthest = std::max(furthest, value - data);
    }
  }
  return furthest;
}

template <std::size_t N>
std::uint32_t pages_read(const ShortList<N>& values) noexcept {
  std::uint32_t pages = 0;
  for (const std::int64_t value : values) {
    if (!is_in_hpet_page(values, value)) {
      pages |= 1U << static_cast<unsigned>(-page_of(value) / kPage);
    }
  }
  return pages;
}

// Of the function that chooses between the clock blocks. Also where the address of the second block
// is taken directly, in the data page or in the namespace page, which has the same offset within
// its page. 0 when two candidates disagree.
std::int64_t stride(const Findings& findings, std::int64_t data) noexcept {
  ShortList<4> candidates = findings.strides;
  for (const std::int64_t address : findings.leas) {
    const std::int64_t distance = (address - data) % kPage;
    if (address > data && contains(kStrides, distance)) {
      candidates.add(distance);
    }
  }
  return candidates.end() - candidates.begin() == 1 ? *candidates.begin() : 0;
}

}  // namespace

template <arch::CodeWidth W>
CodeHints scan_code_of(const VdsoImage& image) noexcept {
  const Scan scan(image);
  Findings all = scan.run<W>(image.clock_gettime);
  const std::int64_t stride_seen = stride(all, lowest_data(all.pages));
  all.merge(scan.run<W>(image.clock_getres));
  CodeHints hints;
  hints.width = W;
  hints.highest_id = static_cast<std::uint8_t>(all.limit);  // the others take no clock id
  all.merge(scan.run<W>(image.gettimeofday));
  all.merge(scan.run<W>(image.time));
  const auto take = [&](vvar::Anchor anchor, const auto& values) {
    hints.anchor = anchor;
    hints.data = static_cast<std::int32_t>(lowest_data(values));
    hints.hpet = reads_hpet(values);
    if (W == arch::CodeWidth::k32) {  // 64-bit code may read two fields as one
      hints.tail = static_cast<std::uint16_t>(tail(values, hints.data));
    }
  };
  if (!all.pages.empty()) {
    take(vvar::Anchor::kImage, all.pages);
    // In the other functions the same constants are offsets within a block.
    hints.stride = static_cast<std::uint16_t>(stride_seen);
    hints.pages = pages_read(all.pages);
  } else if (!all.behind.empty()) {
    take(vvar::Anchor::kImageEnd, all.behind);
  } else if (!all.fixed.empty()) {  // last: 3.16 keeps its pvclock records in the same mappings
    take(vvar::Anchor::kAbsolute, all.fixed);
  }
  return hints;
}

template CodeHints scan_code_of<arch::CodeWidth::k32>(const VdsoImage& image) noexcept;
template CodeHints scan_code_of<arch::CodeWidth::k64>(const VdsoImage& image) noexcept;

}  // namespace vvarclock::discover
