// Writes inputs for the fuzz targets to begin with, one folder for each target: images that parse,
// pages that are right, options that are known. Argument: the folder.
//
// Made anew each time, so that they follow the layouts; nothing of it is any kernel's own.
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/discover/code_hints.h"
#include "test/support/fake_kernel.h"
#include "test/support/image_builder.h"

namespace vvarclock::test {
namespace {

using Bytes = std::vector<std::byte>;

class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) { mkdir(path_.c_str(), 0777); }

  void add(const Bytes& bytes) {
    const std::string name = path_ + "/seed-" + std::to_string(count_++);
    std::FILE* const file = std::fopen(name.c_str(), "wb");
    if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() ||
        std::fclose(file) != 0) {
      std::perror(name.c_str());
      std::exit(1);
    }
  }

 private:
  std::string path_;
  int count_ = 0;
};

void append(Bytes& to, const void* from, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(from);
  to.insert(to.end(), bytes, bytes + size);
}

void append(Bytes& to, std::initializer_list<int> bytes) {
  for (const int each : bytes) {
    to.push_back(static_cast<std::byte>(each));
  }
}

void write_image(Folder& folder, const ImageSpec& spec) {
  folder.add(build_image(spec));
  ImageSpec bare = spec;
  bare.dt_hash = bare.dt_gnu_hash = bare.section_headers = bare.versions = false;
  bare.link_base = spec.width == arch::CodeWidth::k64 ? 0xffffffffff700000 : 0xffffe000;
  folder.add(build_image(bare));
  // As bare code: where two functions begin and end, then the code.
  const Bytes image = build_image(spec);
  Bytes code;
  append(code, {8, 255, 40, 255, 8, 0, 8, 0});
  append(code, image.data() + spec.text_offset, image.size() - spec.text_offset);
  folder.add(code);
}

void write_images(Folder folder) {
  for (const vvar::Layout& layout : vvar::kLayouts) {
    for (const arch::CodeWidth width : {arch::CodeWidth::k64, arch::CodeWidth::k32}) {
      if (layout.is_for(width)) {
        write_image(folder, vdso_like(layout, width));
      }
    }
  }
}

// The order of test/fuzz/readers_fuzz.cc.
void write_pages(Folder folder) {
  constexpr std::size_t kPvclockSize = 32;
  constexpr std::size_t kHvclockSize = 24;
  for (std::size_t row = 0; row < vvar::kLayouts.size(); ++row) {
    const vvar::Layout& layout = vvar::kLayouts[row];
    for (const arch::ClockMode mode :
         {arch::kModeTsc, arch::kModePvclock, arch::kModeHvclock, arch::kModeNone}) {
      FakeSetup setup;
      setup.mode = has_mode(layout, mode) ? mode : arch::kModeTsc;
      FakeKernel kernel(layout, setup);
      Bytes input;
      append(input, {static_cast<int>(row), 7, static_cast<int>(vvar::kMonotonic)});
      append(input, kernel.writable(FakeKernel::Page::kPvclock), kPvclockSize);
      append(input, kernel.writable(FakeKernel::Page::kHvclock), kHvclockSize);
      for (int page = 0; page < 2; ++page) {
        append(input, kernel.writable(FakeKernel::Page::kData), layout.size);
      }
      append(input, {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0});
      folder.add(input);
    }
  }
}

void write_options(Folder folder) {
  for (const char* const values :
       {"on|ordered|auto|auto|json|", "off|UNORDERED|syscall|syscall|1|",
        "maybe|rdtscp|vvar|line|/tmp/report.json|", "\x01|\x01|\x01|\x01|\x01|",
        "\x1b[31m|lfence\n|\x7f|\xff|./r|"}) {
    Bytes input;
    for (const char* c = values; *c != '\0'; ++c) {
      append(input, {*c == '|' ? 0 : *c});
    }
    for (int i = 0; i < 200; ++i) {
      append(input, {i * 37 % 256});
    }
    folder.add(input);
  }
}

// What the input does to a good kernel stands in test/fuzz/layout_probe_fuzz.cc.
void write_damages(Folder folder) {
  for (int row = 0; row < static_cast<int>(vvar::kLayouts.size()); ++row) {
    for (int mode = 0; mode < 4; ++mode) {
      Bytes input;
      append(input, {mode, 0, 0, row, 1, 15, 100, 0, 0});
      folder.add(input);
      append(input, {0, 7, 40, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8});
      folder.add(input);
    }
  }
}

}  // namespace
}  // namespace vvarclock::test

int main(int argc, char** argv) {
  using namespace vvarclock::test;
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_seeds FOLDER\n");
    return 2;
  }
  const std::string top = argv[1];
  mkdir(top.c_str(), 0777);
  write_images(Folder(top + "/vdso_image"));
  write_pages(Folder(top + "/readers"));
  write_options(Folder(top + "/options"));
  write_damages(Folder(top + "/layout_probe"));
  return 0;
}
