// Builds small x86 vDSO images of either class, part by part, for tests.
//
//   ImageSpec spec = vdso_like(vvar::kLayouts[0]);  // clock functions for that layout
//   spec.section_headers = false;                   // leave parts out,
//   spec.functions[0].code = Code().ret();          // or write other code
//   std::vector<std::byte> image = build_image(spec);
//
// The result is the file and the memory image, ELF header first. Page targets in Code are bytes
// from the start of the image, negative before it, so an image serves any load address. To run
// discovery against one: copy it to a page boundary that has the data pages before it (a layout's
// negative offsets count from there) and round the mapping up to whole pages.
//
// Instruction bytes are encoded by hand; no kernel code. Depends on core/vvar/layout.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/vvar/layout.h"
#include "test/support/guarded_bytes.h"
#include "test/support/machine_code.h"

namespace vvarclock::test {

struct ImageFunction {
  std::string name;  // "__vdso_clock_gettime", ...
  Code code;
  bool exported = true;  // has a dynamic symbol
  std::string alias;     // a second symbol for the same code, "" = none
};

struct ImageSpec {
  arch::CodeWidth width = arch::kOwnWidth;
  std::vector<ImageFunction> functions;  // laid out in this order, 16-byte aligned
  std::uint64_t link_base = 0;      // added to every address of the file, as before kernel 3.16
  std::size_t text_offset = 0x600;  // file offset of the first function
  bool dt_hash = true;
  bool dt_gnu_hash = true;
  bool versions = true;  // DT_VERSYM and DT_VERDEF
  bool section_headers = true;
  bool symbol_sizes = true;                     // false: st_size 0 everywhere
  std::uint32_t linux_version_code = 0x061200;  // of the Linux note; 0 = no note of that kind
};

// Of the programs that a layout's tests take it for: 64-bit ones, where there are such.
constexpr arch::CodeWidth width_of(const vvar::Layout& layout) noexcept {
  return layout.is_for(arch::CodeWidth::k64) ? arch::CodeWidth::k64 : arch::CodeWidth::k32;
}

// The page of the HPET that code of this layout may read, counted as its pages are: before the data
// page in the fixed mappings and in 3.15, else behind it.
constexpr std::int32_t hpet_page(const vvar::Layout& layout) noexcept {
  const std::int32_t page = layout.data & -0x1000;
  const bool before = layout.anchor == vvar::Anchor::kAbsolute || page == -0x1000;
  return before ? page - 0x1000 : page + 0x1000;
}

// The file. Aborts the test program on a spec that cannot be built (unknown function name, headers
// past text_offset).
std::vector<std::byte> build_image(const ImageSpec& spec);

// Where build_image puts a function, from the start of the image.
std::size_t offset_of(const ImageSpec& spec, const std::string& function);

// The clock functions of a layout's kernels in the manner of compilers: data, second block,
// namespace page, hypervisor pages, the limit of the clock ids; before 5.3 each generation's own
// forms, in an image of one page. 32-bit code counts from a base register, in all the ways that
// compilers have for it.
ImageSpec vdso_like(const vvar::Layout& layout, arch::CodeWidth width);
inline ImageSpec vdso_like(const vvar::Layout& layout) {
  return vdso_like(layout, width_of(layout));
}

}  // namespace vvarclock::test
