#include "test/bench/simulated_mode.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "arch/x86/hvclock.h"
#include "arch/x86/page.h"
#include "arch/x86/rdtsc.h"
#include "core/vvar/mult_rule.h"

namespace vvarclock::bench {
namespace {

using arch::whole_pages;

// Units of 100 ns per tick of a counter of 2 GHz: any rate costs the same.
constexpr std::uint64_t kTscScale = (std::uint64_t{1} << 63) / 100;

template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(value));
}

}  // namespace

SimulatedMode::SimulatedMode(const discover::Discovery& found, arch::ClockMode mode)
    : found_(found), mode_(mode) {
  const std::size_t before = whole_pages(static_cast<std::size_t>(-found.layout->data));
  const std::size_t code = whole_pages(found.image.bytes.size());
  void* const memory =
      ::mmap(nullptr, before + code, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return;
  }
  auto* const image = static_cast<std::byte*>(memory) + before;
  std::memcpy(image, found.image.bytes.data(), found.image.bytes.size());
  data_ = image + found.layout->data;
  fill_page();
  if (::mprotect(image, code, PROT_READ | PROT_EXEC) == 0) {
    image_ = image;
  }
}

void SimulatedMode::fill_page() const {
  const vvar::Layout& layout = *found_.layout;
  const vvar::BlockLayout& block = vvar::block_layout(layout.block);
  std::memcpy(data_, found_.binding.data, layout.size);
  for (const std::size_t at : {std::size_t{0}, std::size_t{block.stride}}) {
    std::uint32_t shift;
    std::memcpy(&shift, data_ + at + block.shift, sizeof(shift));
    store(data_ + at + block.seq, std::uint32_t{2});
    store(data_ + at + block.seq + 4, mode_);
    if (mode_ == arch::kModeHvclock) {
      constexpr vvar::MultShift kRate = vvar::expected_mult_shift(vvar::kHvclockKhz);
      shift = kRate.shift;
      store(data_ + at + block.mult, kRate.mult);
      store(data_ + at + block.shift, kRate.shift);
      store(data_ + at + block.max_cycles, vvar::expected_max_cycles(kRate.mult));
    }
    // A tenth of a second past the second: no carry happens to fall into the measurement.
    for (const vvar::ClockId id :
         {vvar::kRealtime, vvar::kMonotonic, vvar::kMonotonicRaw, vvar::kBoottime, vvar::kTai}) {
      store(data_ + at + block.nsec(id), std::uint64_t{100'000'000} << shift);
    }
  }
  std::byte* const hvclock = data_ - found_.layout->data + found_.layout->hvclock;
  store(hvclock + arch::hvclock::kTscSequence, std::uint32_t{1});
  store(hvclock + arch::hvclock::kTscScale, kTscScale);
  tick();
}

std::uint64_t SimulatedMode::cycles_now() const {
  const std::uint64_t now = arch::LfenceTsc::read();
  return mode_ == arch::kModeHvclock ? arch::hvclock::reference_time(now, kTscScale, 0) : now;
}

void SimulatedMode::tick() const {
  const vvar::BlockLayout& block = vvar::block_layout(found_.layout->block);
  const std::uint64_t now = cycles_now();
  store(data_ + block.cycle_last, now);
  store(data_ + block.stride + block.cycle_last, now);
}

discover::VdsoImage SimulatedMode::image() const {
  discover::VdsoImage image = found_.image;
  image.bytes = {image_, found_.image.bytes.size()};
  return image;
}

vvar::Binding SimulatedMode::binding() const {
  vvar::Binding binding = found_.binding;
  binding.data = data_;
  binding.timens_data = nullptr;
  binding.counters.hvclock = data_ - found_.layout->data + found_.layout->hvclock;
  return binding;
}

}  // namespace vvarclock::bench
