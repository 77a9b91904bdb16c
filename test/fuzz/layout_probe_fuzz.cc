// Guards against: a probe that faults, hangs or half-fills a binding, on pages that no kernel would
// write.
//
// A libFuzzer target (scripts/fuzz) for core/discover/layout_probe.h.
// The input turns a good simulated kernel into a bad one: arbitrary bytes anywhere in its pages,
// pages missing, the writer stopped in the middle. The probe may believe what is left or refuse it;
// it must end, and refusing must leave no trace. Pages that are not there have no access, so a look
// at them ends the run.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/discover/layout_probe.h"
#include "test/fuzz/input.h"
#include "test/support/fake_kernel.h"
#include "test/support/sim_counter.h"

namespace vvarclock::test {
namespace {

using Page = FakeKernel::Page;

const vvar::Layout& some_layout(Input& input) {
  return vvar::kLayouts[input.take<std::uint8_t>() % vvar::kLayouts.size()];
}

discover::CodeHints some_hints(Input& input, const vvar::Layout& row) {
  const auto parts = input.take<std::uint8_t>();
  discover::CodeHints hints;
  hints.anchor = row.anchor;
  hints.data = (parts & 1) != 0 ? row.data : 0;
  hints.hpet = (parts & 8) != 0 && row.hpet;
  hints.pages = (parts & 16) != 0 ? input.take<std::uint32_t>() : 0;
  hints.stride = (parts & 2) != 0 ? vvar::block_layout(row.block).stride : 0;
  hints.highest_id = (parts & 4) != 0 ? row.highest_id : 0;
  return hints;
}

void overwrite(FakeKernel& kernel, Page page, Input& input) {
  constexpr std::size_t kReach = 2400;  // no row's data is longer
  const std::size_t offset = input.take<std::uint16_t>() % kReach;
  const std::size_t length = 1 + input.take<std::uint8_t>() % 16;
  for (std::size_t i = 0; i < length; ++i) {
    kernel.writable(page)[offset % kReach + i] = input.take<std::byte>();
  }
}

bool has_page(const vvar::Layout& layout, Page page) {
  switch (page) {
    case Page::kData:
      return true;
    case Page::kTimens:
      return layout.timens != vvar::kNoPage;
    case Page::kPvclock:
      return layout.pvclock != vvar::kNoPage;
    case Page::kHvclock:
      break;
  }
  return layout.hvclock != vvar::kNoPage;
}

void use_source(FakeKernel& kernel, arch::ClockMode mode) {
  if (has_mode(kernel.layout(), mode)) {
    kernel.use_source(mode);
  }
}

void some_damage(FakeKernel& kernel, Input& input) {
  auto page = static_cast<Page>(input.take<std::uint8_t>() % 4);
  page = has_page(kernel.layout(), page) ? page : Page::kData;
  switch (input.take<std::uint8_t>() % 12) {
    case 0:
      return kernel.withdraw(page);
    case 1:
      return kernel.zero(page);
    case 2:
      return kernel.hold_seq_odd(true);
    case 3:
      return kernel.hold_pvclock_odd();
    case 4:
      return has_page(kernel.layout(), Page::kTimens) ? kernel.enter_timens({{3, 4}, {5, 6}})
                                                      : void();
    case 5:
      return use_source(kernel, static_cast<arch::ClockMode>(input.take<std::uint8_t>() % 4));
    case 6:
      return kernel.slew(input.take<std::int8_t>() * 1000);
    default:
      return overwrite(kernel, page, input);
  }
}

void probe_once(Input& input) {
  FakeSetup setup;
  setup.mode = static_cast<arch::ClockMode>(input.take<std::uint8_t>() % 4);
  setup.ticking = (input.take<std::uint8_t>() & 1) != 0;
  setup.zero_timens_page = (input.take<std::uint8_t>() & 1) != 0;
  const vvar::Layout& row = some_layout(input);
  const vvar::Layout& read_as = (input.take<std::uint8_t>() & 1) != 0 ? row : some_layout(input);
  // Code that places its data in an HPET's page would have the probe ask about a device: such a
  // kernel's own code does not.
  const discover::CodeHints hints = some_hints(input, row.hpet ? row : read_as);
  if (!has_mode(row, setup.mode)) {
    setup.mode = arch::kModeTsc;
  }
  FakeKernel kernel(row, setup);
  SimCounter::step = 1 + input.take<std::uint16_t>();
  // A record that stays odd costs five readers their whole bound, so few inputs may leave it so.
  const bool may_stay_odd = input.take<std::uint8_t>() % 64 == 63;
  while (!input.empty()) {
    some_damage(kernel, input);
  }
  if (!may_stay_odd) {
    kernel.writable(Page::kPvclock)[0] &= ~std::byte{1};
  }
  vvar::Binding binding;
  const discover::Probe probe{&kernel.table(), kernel.mapped_image(), hints,
                              discover::kAttachEffort};
  const discover::Refusal refusal = discover::probe_layout(probe, read_as, binding);
  const bool believed = refusal.test == discover::ProbeTest::kPassed;
  const bool bound = binding.data != nullptr && kernel.table().readable(binding.data);
  if (refusal.layout != &read_as || (believed ? !bound : binding.data != nullptr)) {
    std::abort();
  }
}

}  // namespace
}  // namespace vvarclock::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vvarclock::test::Input input(data, size);
  vvarclock::test::probe_once(input);
  return 0;
}
