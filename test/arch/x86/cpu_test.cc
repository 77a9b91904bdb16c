// Guards against: a CPU feature that is believed without CPUID's word, or denied against it.
//
// Reference: the instruction itself, leaf and bit numbers as Intel's and AMD's manuals have them
// (volume 2, CPUID).
#include "arch/x86/cpu.h"

#include <string>

#include "test/support/catch.h"

namespace vvarclock::arch {
namespace {

CpuidRegisters ask(unsigned leaf) {
  CpuidRegisters r{};
  asm volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx) : "a"(leaf), "c"(0));
  return r;
}

TEST_CASE("features equal the bits of CPUID", "[arch]") {
  CHECK(has_rdtscp() == ((ask(0x80000001).edx >> 27 & 1) == 1));
  CHECK(has_hypervisor() == ((ask(1).ecx >> 31 & 1) == 1));
  const bool has_power_leaf = ask(0x80000000).eax >= 0x80000007;
  CHECK(has_invariant_tsc() == (has_power_leaf && (ask(0x80000007).edx >> 8 & 1) == 1));
}

TEST_CASE("a leaf that the CPU does not have is all zero", "[arch]") {
  // Beyond the highest leaf an Intel CPU answers with the data of another leaf.
  for (const unsigned leaf : {0x0fffffffU, 0x8fffffffU}) {
    CAPTURE(leaf);
    const CpuidRegisters r = cpuid(leaf);
    CHECK((r.eax | r.ebx | r.ecx | r.edx) == 0);
  }
}

TEST_CASE("the hypervisor's signature is there exactly when a hypervisor is", "[arch]") {
  const std::string signature = hypervisor_signature().data();
  CHECK(signature.empty() == !has_hypervisor());
  if (has_hypervisor()) {
    const CpuidRegisters r = ask(0x40000000);
    std::string want;
    for (const unsigned word : {r.ebx, r.ecx, r.edx}) {
      for (unsigned i = 0; i < 32; i += 8) {
        want.push_back(static_cast<char>(word >> i & 0xff));
      }
    }
    CHECK(signature == want.c_str());
  }
}

}  // namespace
}  // namespace vvarclock::arch
