// Guards against: state of ours that a call changes, or that a stray write in the host could bend.
//
// After attach what the calls go by is read-only: everything that the loader relocated, and the
// table of readers behind it. What stays writable is for the raw clock's line (kernels before 5.3)
// and libelf's word; no call of any clock changes a byte of it where the page holds every clock.
// And nothing of the library is writable and executable at once.
#include <link.h>

#include <string>
#include <vector>

#include "arch/x86/page.h"
#include "test/support/clock_calls.h"
#include "test/support/maps.h"

namespace vvarclock::process {
namespace {

using arch::kPageSize;

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

struct Library {
  Range data;   // its writable segment, whole pages
  Range relro;  // whole pages of it that the loader closes
};

int look_at(dl_phdr_info* info, std::size_t, void* out) {
  if (base_name(info->dlpi_name) != expected_library()) {
    return 0;
  }
  auto& library = *static_cast<Library*>(out);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = begin + segment.p_memsz;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) {
      library.data = {begin / kPageSize * kPageSize, arch::whole_pages(end)};
    } else if (segment.p_type == PT_GNU_RELRO) {
      library.relro = {begin / kPageSize * kPageSize, end / kPageSize * kPageSize};
    }
  }
  return 1;
}

// The pages of a range that may be written.
std::vector<std::uintptr_t> writable_pages(const Range& range) {
  const std::vector<Mapping> mappings = mappings_of("self");
  if (mappings.empty()) {
    skip("/proc/self/maps: %s", std::strerror(errno));
  }
  std::vector<std::uintptr_t> pages;
  for (const Mapping& mapped : mappings) {
    for (std::uintptr_t page = mapped.begin; page < mapped.end && mapped.writable;
         page += kPageSize) {
      if (page >= range.begin && page < range.end) {
        expect(!mapped.executable, "the library is writable and executable at %" PRIxPTR, page);
        pages.push_back(page);
      }
    }
  }
  return pages;
}

std::string content(const std::vector<std::uintptr_t>& pages) {
  std::string bytes;
  for (const std::uintptr_t page : pages) {
    bytes.append(reinterpret_cast<const char*>(page), kPageSize);
  }
  return bytes;
}

void read_every_clock() {
  for (int round = 0; round < 10'000; ++round) {
    for (const Call& call : kCalls) {
      call.own();
    }
    timespec resolution{};
    expect(clock_getres(CLOCK_MONOTONIC, &resolution) == 0, "clock_getres: errno %d", errno);
  }
}

}  // namespace
}  // namespace vvarclock::process

int main() {
  using namespace vvarclock::process;
  begin();
  Library library;
  expect(dl_iterate_phdr(look_at, &library) == 1 && library.data.end != 0,
         "the library's segments are not found");
  const std::vector<std::uintptr_t> writable = writable_pages(library.data);
  const std::string before = content(writable);
  read_every_clock();
  expect(content(writable) == before, "the library wrote to its own data while clocks were read");
  expect(writable_pages(library.relro).empty(), "what was relocated is still writable");
  const std::size_t closed = (library.data.end - library.data.begin) / kPageSize - writable.size();
  const std::size_t relro = (library.relro.end - library.relro.begin) / kPageSize;
  expect(relro > 0 && closed > relro, "the table of readers is not read-only after attach");
  note("%zu pages closed, %zu writable and not written", closed, writable.size());
  return 0;
}
