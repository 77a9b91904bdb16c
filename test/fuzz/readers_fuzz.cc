// Guards against: a reader that faults, reads beyond what its layout declares, or never ends, on
// bytes that no kernel and no hypervisor would write. It may only refuse or answer, and an answer
// is a time.
//
// A libFuzzer target (scripts/fuzz) for the pvclock, Hyper-V and vvar readers of every layout.
// Every page is a heap block of exactly the size that a reader may touch. The counter is the other
// party: each read takes its value and one change of memory from the input; when the input has
// ended, an update of the pvclock record ends, too. A page that is odd for ever costs the whole
// bound of the full reader, tens of milliseconds, so that one control byte alone asks for it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "arch/x86/hvclock.h"
#include "arch/x86/pvclock.h"
#include "core/vvar/read_clock.h"
#include "test/fuzz/input.h"

namespace vvarclock {
namespace {

constexpr std::size_t kPvclockSize = 32;
constexpr std::size_t kHvclockSize = 24;

using test::Input;
using test::require;

struct Memory {
  Memory(Input& input, std::size_t bytes) : size(bytes), data(new std::byte[bytes]) {
    input.fill(data.get(), bytes);
  }
  std::size_t size;
  std::unique_ptr<std::byte[]> data;
};

// The counter with the rest of the input as its script, and the memory that it changes.
struct FuzzedCounter {
  static inline Input* input = nullptr;
  static inline Memory* changed = nullptr;
  static inline Memory* pvclock = nullptr;
  static inline std::uint64_t last = 0;

  static std::uint64_t read() noexcept {
    if (!input->empty()) {
      const auto offset = input->take<std::uint16_t>() % changed->size;
      changed->data[offset] ^= input->take<std::byte>();
      last = input->take<std::uint64_t>();
    } else {
      pvclock->data[arch::pvclock::kVersion] &= ~std::byte{1};
    }
    return last;
  }
};

constexpr vvar::SecNsec kUntouched{0xdead, 0xbeef};

struct Case {
  const vvar::Layout* layout;
  vvar::Binding binding;
  std::uint32_t id;
  bool may_wait;
};

// Odd, and not the mark of a namespace whose real page is even.
template <const vvar::BlockLayout& B>
bool waits(const vvar::Binding& binding, std::size_t block) {
  const auto odd = [](const std::byte* seq) { return vvar::look<B>(seq).being_written(); };
  const std::byte* const real = vvar::real_data<B>(binding);
  return real != nullptr && (odd(real + block) || (real == binding.data && odd(binding.data)));
}

// The hot path that is made for one clock mode. The mode's page must be there.
template <const vvar::BlockLayout& B, arch::ClockMode M, class Check>
void read_in_mode(const Case& c, bool has_page, const Check& check) {
  if (has_page) {
    vvar::SecNsec time = kUntouched;
    check(vvar::read_clock_once<B, FuzzedCounter, vvar::Path::kHot, M>(
              c.binding.data, c.binding.counters, c.id, time) == arch::Attempt::kDone,
          time);
  }
}

template <const vvar::BlockLayout& B>
void read_page(const Case& c) {
  const bool served = vvar::is_in(c.id, vvar::kServedIds);
  const bool coarse = vvar::is_in(c.id, vvar::kCoarseIds);
  const auto check = [&](bool given, const vvar::SecNsec& time) {
    require(served || !given);
    // A coarse clock's nanoseconds are the page's word.
    require(given ? coarse || time.nsec < vvar::kNsPerSec
                  : time.sec == kUntouched.sec && time.nsec == kUntouched.nsec);
  };
  vvar::SecNsec time = kUntouched;
  check(vvar::read_clock_once<B, FuzzedCounter>(c.binding.data, c.binding.counters, c.id, time) ==
            arch::Attempt::kDone,
        time);
  time = kUntouched;
  check(vvar::read_clock_once<B, FuzzedCounter, vvar::Path::kFull>(
            c.binding.data, c.binding.counters, c.id, time) == arch::Attempt::kDone,
        time);
  read_in_mode<B, arch::kModeTsc>(c, true, check);
  read_in_mode<B, arch::kModePvclock>(c, c.binding.counters.pvclock != nullptr, check);
  read_in_mode<B, arch::kModeHvclock>(c, c.binding.counters.hvclock != nullptr, check);
  const std::size_t block = c.id == vvar::kMonotonicRaw ? B.stride : 0U;
  if (c.may_wait || !waits<B>(c.binding, block)) {
    time = kUntouched;
    check(vvar::read_clock<B, FuzzedCounter>(c.binding, c.id, time), time);
  }
  std::uint64_t sec = 0;
  vvar::Timezone zone{};
  std::uint32_t resolution = 0;
  require(vvar::read_time<B>(c.binding, sec) == vvar::read_timezone<B>(c.binding, zone));
  const bool resolved = vvar::read_resolution<B>(c.binding, c.id, resolution);
  require(served || !resolved);
}

void read_page_of_kind(const Case& c) {
  vvar::with_block(c.layout->block, [&]<const vvar::BlockLayout & B>() { read_page<B>(c); });
}

void run(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const auto which = input.take<std::uint8_t>();
  const auto control = input.take<std::uint8_t>();
  const auto id = input.take<std::uint8_t>();
  const vvar::Layout& layout = vvar::kLayouts[which % vvar::kLayouts.size()];

  Memory pvclock(input, kPvclockSize);
  Memory hvclock(input, kHvclockSize);
  Memory data(input, layout.size);
  Memory real(input, (control & 1) != 0 ? layout.size : std::size_t{8});
  Case c{&layout,
         {},
         id < 64 ? id : static_cast<std::uint32_t>(-static_cast<int>(id)),
         control == 0xff};
  c.binding.data = data.data.get();
  c.binding.timens_data = (control & 1) != 0 ? real.data.get() : nullptr;
  c.binding.counters = {(control & 2) != 0 ? pvclock.data.get() : nullptr,
                        (control & 4) != 0 ? hvclock.data.get() : nullptr};
  c.binding.timezone = layout.timezone;
  c.binding.hrtimer_res = layout.hrtimer_res;

  Memory* const parties[] = {&data, &real, &pvclock, &hvclock};
  FuzzedCounter::input = &input;
  FuzzedCounter::changed = parties[which >> 6];
  FuzzedCounter::pvclock = &pvclock;
  FuzzedCounter::last = 0;
  static_cast<void>(arch::pvclock::read<FuzzedCounter>(pvclock.data.get()));
  static_cast<void>(arch::hvclock::read<FuzzedCounter>(hvclock.data.get()));
  read_page_of_kind(c);
}

}  // namespace
}  // namespace vvarclock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  vvarclock::run(bytes, size);
  return 0;
}
