// The simulated kernel's memory: one file, mapped twice, and the table of plain functions over the
// living instance.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "test/support/fake_kernel.h"
#include "test/support/sim_counter.h"

namespace vvarclock::test {
namespace {

constexpr std::int32_t kPageSize = 4096;
// Between the fixed mappings and the image, further than any layout reaches.
constexpr std::int32_t kGap = 16 * kPageSize;

FakeKernel* living = nullptr;

constexpr std::int32_t page_floor(std::int32_t offset) { return offset & -kPageSize; }

// A test environment without memory is not worth an error path.
void require(bool condition, const char* what) {
  if (!condition) {
    std::perror(what);
    std::abort();
  }
}

std::byte* map_new(void* where, std::size_t size, int protection, int flags, int file,
                   off_t offset) {
  void* const at = mmap(where, size, protection, flags, file, offset);
  require(at != MAP_FAILED, "mmap");
  return static_cast<std::byte*>(at);
}

long getres(clockid_t id, arch::Timespec64* out) noexcept {
  const auto clock = static_cast<vvar::ClockId>(id);
  if (!vvar::is_in(clock, vvar::kServedIds)) {
    return -EINVAL;
  }
  *out = {0, vvar::is_in(clock, vvar::kCoarseIds) ? kTickNs : 1};
  return 0;
}

}  // namespace

FakeKernel& FakeKernel::current() noexcept { return *living; }

// The image, its pages and the place of the HPET in one stretch. Fixed mappings come first: the
// HPET, then the data page, and a gap.
void FakeKernel::place_pages() noexcept {
  const std::size_t image = image_pages() * kPageSize;
  switch (layout_.anchor) {
    case vvar::Anchor::kImage:
      anchor_offset_ = image_offset_ =
          static_cast<std::size_t>(-std::min({place_of(Page::kData), place_of(Page::kTimens),
                                              place_of(Page::kPvclock), place_of(Page::kHvclock)}));
      break;
    case vvar::Anchor::kImageEnd:
      anchor_offset_ = image;
      break;
    case vvar::Anchor::kAbsolute:
      anchor_offset_ = static_cast<std::size_t>(-std::int64_t{place_of(Page::kData)}) + kPageSize;
      image_offset_ = 2 * kPageSize + kGap;
      break;
  }
  const std::size_t behind = layout_.anchor == vvar::Anchor::kImageEnd ? 2 * kPageSize : 0;
  pages_ = (image_offset_ + image + behind) / kPageSize;
}

// Next to the data page: before it in the fixed mappings and in 3.15, after it otherwise.
bool FakeKernel::is_hpet(std::size_t page) const noexcept {
  if (!layout_.hpet) {
    return false;
  }
  const std::size_t data = view_offset(place_of(Page::kData)) / kPageSize;
  const bool before =
      layout_.anchor == vvar::Anchor::kAbsolute ||
      (layout_.anchor == vvar::Anchor::kImage && (layout_.data & -0x1000) == -0x1000);
  return page == (before ? data - 1 : data + 1);
}

const std::byte* FakeKernel::at(std::int32_t offset) const noexcept {
  return offset == vvar::kNoPage ? nullptr : view_ + view_offset(offset);
}

void FakeKernel::create_memory() {
  require(living == nullptr, "a second FakeKernel");
  living = this;
  place_pages();
  present_.assign(pages_, false);
  memory_ = memfd_create("fake-kernel", MFD_CLOEXEC);
  require(memory_ >= 0 && ftruncate(memory_, kStores * kPageSize) == 0, "memfd");
  backing_ = map_new(nullptr, kStores * kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
  view_ = map_new(nullptr, pages_ * kPageSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (std::size_t page = 0; page < image_pages(); ++page) {
    map_at(image_offset_ + page * kPageSize, page == 0 ? kImage : kImage2);
  }
  map(place_of(Page::kData), kRealData);
  if (setup_.zero_timens_page && layout_.timens != vvar::kNoPage) {
    map(place_of(Page::kTimens), kZeros);
  }
}

void FakeKernel::destroy_memory() noexcept {
  munmap(view_, pages_ * kPageSize);
  munmap(backing_, kStores * kPageSize);
  close(memory_);
  living = nullptr;
}

std::int32_t FakeKernel::place_of(Page page) const noexcept {
  switch (page) {
    case Page::kData:
      return page_floor(layout_.data);
    case Page::kTimens:
      return page_floor(layout_.timens);
    case Page::kPvclock:
      return layout_.pvclock;
    case Page::kHvclock:
      break;
  }
  return layout_.hvclock;
}

std::byte* FakeKernel::writable(Page page) noexcept {
  switch (page) {
    case Page::kData:
      return backing_ + kRealData * kPageSize + (layout_.data - page_floor(layout_.data));
    case Page::kTimens:
      return backing_ + kTimensData * kPageSize + (layout_.timens - page_floor(layout_.timens));
    case Page::kPvclock:
      return backing_ + kPvclockPage * kPageSize;
    case Page::kHvclock:
      break;
  }
  return backing_ + kHvclockPage * kPageSize;
}

std::span<std::byte> FakeKernel::writable_image() noexcept {
  return {backing_ + kImage * kPageSize, image_pages() * kPageSize};
}

// Replacing a mapping in place is one step for whoever touches the page meanwhile: he finds the old
// or the new.
void FakeKernel::map(std::int32_t place, Store store) { map_at(view_offset(place), store); }

void FakeKernel::map_at(std::size_t offset, Store store) {
  map_new(view_ + offset, kPageSize, PROT_READ, MAP_SHARED | MAP_FIXED, memory_, store * kPageSize);
  present_[offset / kPageSize] = true;
}

void FakeKernel::unmap(std::int32_t place) {
  const std::size_t offset = view_offset(place);
  map_new(view_ + offset, kPageSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  present_[offset / kPageSize] = false;
}

bool FakeKernel::readable(const std::byte* address) const noexcept {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(view_);
  const std::size_t page = offset / kPageSize;
  if (page < pages_ && is_hpet(page)) {
    std::fputs("the HPET's page, a device, was asked about\n", stderr);
    std::abort();
  }
  return page < pages_ && present_[page];
}

void FakeKernel::give_out_hypervisor_page(arch::ClockMode mode) {
  require(has_mode(layout_, mode), "this generation has no such clock mode");
  const auto give_out = [&](std::int32_t place, Store store) {
    if (place != vvar::kNoPage && !readable(at(place))) {
      map(place, store);
    }
  };
  if (mode == arch::kModePvclock) {
    give_out(layout_.pvclock, kPvclockPage);
  } else if (mode == arch::kModeHvclock) {
    give_out(layout_.hvclock, kHvclockPage);
  }
}

void FakeKernel::withdraw(Page page) {
  require(page == Page::kData || place_of(page) != vvar::kNoPage, "a page to withdraw");
  unmap(place_of(page));
}

void FakeKernel::zero(Page page) {
  require(page == Page::kData || place_of(page) != vvar::kNoPage, "a page to zero");
  map(place_of(page), kZeros);
}

void FakeKernel::enter_timens(const TimensOffsets& offsets) {
  const std::int32_t in_page = layout_.timens - page_floor(layout_.timens);
  require(layout_.timens != vvar::kNoPage && in_page == layout_.data - page_floor(layout_.data),
          "time namespaces");
  box_.begin_write();
  write_timens_page(layout_, dialect_, writable(Page::kTimens), offsets);
  map(place_of(Page::kTimens), kRealData);  // before anybody can see the mark that leads there
  map(place_of(Page::kData), kTimensData);
  state_.offsets = offsets;
  state_.in_timens = true;
  box_.end_write(state_);
}

void FakeKernel::leave_timens() {
  box_.begin_write();
  map(place_of(Page::kData), kRealData);
  if (setup_.zero_timens_page) {
    map(place_of(Page::kTimens), kZeros);
  } else {
    unmap(place_of(Page::kTimens));
  }
  state_.in_timens = false;
  box_.end_write(state_);
}

vvar::Binding FakeKernel::binding() const noexcept {
  vvar::Binding binding;
  binding.data = at(layout_.data);
  binding.timens_data = at(layout_.timens);
  binding.counters = {at(layout_.pvclock), at(layout_.hvclock)};
  binding.timezone = layout_.timezone;
  binding.hrtimer_res = layout_.hrtimer_res;
  binding.coarse_resolution = kTickNs;
  return binding;
}

const discover::Kernel& FakeKernel::table() const noexcept {
  static constexpr discover::Kernel kTable{
      .readable = [](const std::byte* address) noexcept { return living->readable(address); },
      .clock_gettime =
          [](clockid_t id, arch::Timespec64* out) noexcept {
            SimCounter::read();  // a system call takes time, and ticks arrive meanwhile
            return living->clock_gettime(id, out);
          },
      .clock_getres = &getres,
      .counter = &SimCounter::read,
      .read_clock = &discover::read_clock_of_kind<SimCounter>,
      .timezone =
          [](vvar::Timezone& zone) noexcept {
            zone = living->timezone_;
            return 0L;
          },
      .fixed_mapping = [](std::uintptr_t address) noexcept -> const std::byte* {
        const bool fixed = living->layout_.anchor == vvar::Anchor::kAbsolute;
        return fixed ? living->view_ + (living->anchor_offset_ + address) : nullptr;
      },
  };
  return kTable;
}

}  // namespace vvarclock::test
