// What the tests of this room share: the block kinds as types, a page of plain memory, and times
// that Catch2 can compare and print.
#pragma once

#include <array>
#include <cstddef>
#include <ostream>

#include "core/vvar/binding.h"
#include "core/vvar/cycles_to_ns.h"
#include "core/vvar/layout.h"
#include "test/core/vvar/page_writer.h"

namespace vvarclock::vvar {

// In the type's own namespace, where Catch2's templates find them.
constexpr bool operator==(const SecNsec& a, const SecNsec& b) {
  return a.sec == b.sec && a.nsec == b.nsec;
}

inline std::ostream& operator<<(std::ostream& out, const SecNsec& time) {
  return out << time.sec << " s " << time.nsec << " ns";
}

}  // namespace vvarclock::vvar

namespace vvarclock::test {

// What no page says: shows that a refusal left the caller's time alone.
inline constexpr vvar::SecNsec kUntouched{0xdead, 0xbeef};

struct KindD {
  static constexpr const vvar::BlockLayout& kBlock = vvar::kBlockD;
};
struct KindDm {
  static constexpr const vvar::BlockLayout& kBlock = vvar::kBlockDm;
};
struct KindV {
  static constexpr const vvar::BlockLayout& kBlock = vvar::kBlockV;
};

// One page of plain memory with its writer.
template <class Kind>
struct Page {
  alignas(64) std::array<std::byte, 4096> bytes{};
  PageWriter write{Kind::kBlock, bytes.data()};

  Page() = default;
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  [[nodiscard]] const std::byte* data() const noexcept { return bytes.data(); }

  [[nodiscard]] vvar::Binding binding() const noexcept {
    vvar::Binding b;
    b.data = bytes.data();
    return b;
  }
};

}  // namespace vvarclock::test
