// Questions for CPUID.
//
// What CPUID says is what the hypervisor or the kernel wants programs to believe; an instruction
// may work although CPUID denies it. We use only what it grants.
#pragma once

#include <cpuid.h>

#include <array>
#include <cstring>

namespace vvarclock::arch {

inline constexpr unsigned kLeafFeatures = 0x1;
inline constexpr unsigned kLeafHypervisor = 0x40000000;
inline constexpr unsigned kLeafExtendedFeatures = 0x80000001;
inline constexpr unsigned kLeafPowerManagement = 0x80000007;

struct CpuidRegisters {
  unsigned eax, ebx, ecx, edx;
};

// All zero when the CPU has no such leaf.
inline CpuidRegisters cpuid(unsigned leaf) noexcept {
  CpuidRegisters r{};
  if (__get_cpuid(leaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) {
    return {};
  }
  return r;
}

// In every program's start, so it asks once: CPUID leaves the virtual machine, for 6 us here, and
// the leaf is the one that tells of 64-bit mode, so a CPU in that mode has it.
inline bool has_rdtscp() noexcept {
  CpuidRegisters r{};
#ifdef __x86_64__
  __cpuid(kLeafExtendedFeatures, r.eax, r.ebx, r.ecx, r.edx);
#else
  r = cpuid(kLeafExtendedFeatures);
#endif
  return (r.edx & (1U << 27)) != 0;
}
// Every 64-bit CPU has SSE2 and with it lfence; 32-bit CPUs without it have no ordered counter read
// that a program may rely on.
inline bool has_lfence() noexcept {
#ifdef __x86_64__
  return true;
#else
  return (cpuid(kLeafFeatures).edx & (1U << 26)) != 0;
#endif
}
inline bool has_invariant_tsc() noexcept {
  return (cpuid(kLeafPowerManagement).edx & (1U << 8)) != 0;
}
inline bool has_hypervisor() noexcept { return (cpuid(kLeafFeatures).ecx & (1U << 31)) != 0; }

// The hypervisor's 12-letter signature ("KVMKVMKVM", "Microsoft Hv", ...), empty on bare metal.
inline std::array<char, 13> hypervisor_signature() noexcept {
  std::array<char, 13> name{};
  if (has_hypervisor()) {
    CpuidRegisters r{};
    __cpuid(kLeafHypervisor, r.eax, r.ebx, r.ecx, r.edx);
    std::memcpy(name.data(), &r.ebx, 4);
    std::memcpy(name.data() + 4, &r.ecx, 4);
    std::memcpy(name.data() + 8, &r.edx, 4);
  }
  return name;
}

}  // namespace vvarclock::arch
