// Which general registers one instruction of 32-bit code may write, and whether it writes its
// memory operand.
//
// Says too much rather than too little: what is not in the tables writes everything. The stack
// pointer is left out (nobody here follows it), and so is what a called function changes in memory.
// Pure. Source: Intel SDM volume 2; the System V ABI for i386 (what a call leaves alone).
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/x86/instruction.h"
#include "arch/x86/opcode_forms.h"

namespace vvarclock::arch {

inline constexpr std::size_t kRegisters32 = 8;

struct Effects {
  std::uint8_t registers = 0;  // one bit each
  bool memory = false;         // writes 4 bytes or fewer of the memory operand
  bool everything = false;     // nothing can be said
};

namespace detail {

// What an opcode writes.
inline constexpr unsigned kWritesNothing = 0;
inline constexpr unsigned kWritesReg = 1;     // the register of the ModRM byte's middle field
inline constexpr unsigned kWritesRm = 2;      // the ModRM operand, register or memory
inline constexpr unsigned kWritesAcc = 4;     // eax
inline constexpr unsigned kWritesData = 8;    // edx
inline constexpr unsigned kWritesCount = 16;  // ecx
inline constexpr unsigned kWritesCoded = 32;  // the register in the opcode's low bits
inline constexpr unsigned kByteSized = 64;    // register numbers 4-7 are the second bytes of 0-3
inline constexpr unsigned kWritesAll = 128;
inline constexpr unsigned kWritesByCall = kWritesAcc | kWritesData | kWritesCount;

inline constexpr FormTable kOneByteWrites =
    make_forms(kWritesAll, {{0x06, 0x06, kWritesNothing},  // push of segment registers
                            {0x0e, 0x0e, kWritesNothing},
                            {0x16, 0x16, kWritesNothing},
                            {0x1e, 0x1e, kWritesNothing},
                            {0x27, 0x27, kWritesAcc},  // daa, das, aaa, aas
                            {0x2f, 0x2f, kWritesAcc},
                            {0x37, 0x37, kWritesAcc},
                            {0x3f, 0x3f, kWritesAcc},
                            {0x40, 0x4f, kWritesCoded},    // inc, dec
                            {0x50, 0x57, kWritesNothing},  // push
                            {0x58, 0x5f, kWritesCoded},    // pop
                            {0x60, 0x60, kWritesNothing},
                            {0x62, 0x62, kWritesNothing},
                            {0x68, 0x68, kWritesNothing},
                            {0x69, 0x69, kWritesReg},
                            {0x6a, 0x6a, kWritesNothing},
                            {0x6b, 0x6b, kWritesReg},
                            {0x70, 0x7f, kWritesNothing},
                            {0x84, 0x85, kWritesNothing},  // test
                            {0x86, 0x86, kWritesReg | kWritesRm | kByteSized},
                            {0x87, 0x87, kWritesReg | kWritesRm},
                            {0x88, 0x88, kWritesRm | kByteSized},
                            {0x89, 0x89, kWritesRm},
                            {0x8a, 0x8a, kWritesReg | kByteSized},
                            {0x8b, 0x8b, kWritesReg},
                            {0x8c, 0x8c, kWritesRm},
                            {0x8d, 0x8d, kWritesReg},
                            {0x8f, 0x8f, kWritesRm},
                            {0x90, 0x90, kWritesNothing},
                            {0x91, 0x97, kWritesCoded | kWritesAcc},
                            {0x98, 0x98, kWritesAcc},
                            {0x99, 0x99, kWritesData},
                            {0x9c, 0x9c, kWritesNothing},
                            {0x9e, 0x9e, kWritesNothing},
                            {0x9f, 0x9f, kWritesAcc},
                            {0xa0, 0xa1, kWritesAcc},
                            {0xa8, 0xa9, kWritesNothing},
                            {0xb0, 0xb7, kWritesCoded | kByteSized},
                            {0xb8, 0xbf, kWritesCoded},
                            {0xc0, 0xc0, kWritesRm | kByteSized},
                            {0xc1, 0xc1, kWritesRm},
                            {0xc2, 0xc3, kWritesNothing},
                            {0xc6, 0xc6, kWritesRm | kByteSized},
                            {0xc7, 0xc7, kWritesRm},
                            {0xcc, 0xcc, kWritesNothing},
                            {0xcd, 0xcd, kWritesByCall},  // a system call
                            {0xd0, 0xd0, kWritesRm | kByteSized},
                            {0xd1, 0xd1, kWritesRm},
                            {0xd2, 0xd2, kWritesRm | kByteSized},
                            {0xd3, 0xd3, kWritesRm},
                            {0xe0, 0xe3, kWritesCount},
                            {0xe4, 0xe5, kWritesAcc},
                            {0xe8, 0xe8, kWritesByCall},
                            {0xe9, 0xe9, kWritesNothing},
                            {0xeb, 0xeb, kWritesNothing}});

inline constexpr FormTable kTwoByteWrites =
    make_forms(kWritesAll, {{0x01, 0x01, kWritesByCall},   // rdtscp among them
                            {0x0b, 0x0b, kWritesNothing},  // ud2
                            {0x0d, 0x0d, kWritesNothing},  // prefetches and wide no-ops
                            {0x18, 0x1f, kWritesNothing},
                            {0x1e, 0x1e, kWritesRm},  // endbr32, and the shadow stack's pointer
                            {0x31, 0x31, kWritesAcc | kWritesData},  // rdtsc
                            {0x40, 0x4f, kWritesReg},                // cmov
                            {0x80, 0x8f, kWritesNothing},
                            {0x90, 0x9f, kWritesRm | kByteSized},
                            {0xa0, 0xa0, kWritesNothing},
                            {0xa3, 0xa3, kWritesNothing},  // bt
                            {0xa4, 0xa5, kWritesRm},       // shld
                            {0xa8, 0xa8, kWritesNothing},
                            {0xac, 0xad, kWritesRm},  // shrd
                            {0xae, 0xae, kWritesRm},  // fences; what stores is refused below
                            {0xaf, 0xaf, kWritesReg},
                            {0xb0, 0xb0, kWritesRm | kWritesAcc | kByteSized},
                            {0xb1, 0xb1, kWritesRm | kWritesAcc},
                            {0xb6, 0xb7, kWritesReg},
                            {0xba, 0xba, kWritesRm},
                            {0xbc, 0xbf, kWritesReg},
                            {0xc0, 0xc0, kWritesReg | kWritesRm | kByteSized},
                            {0xc1, 0xc1, kWritesReg | kWritesRm},
                            {0xc8, 0xcf, kWritesCoded}});

constexpr unsigned arithmetic_writes(std::uint8_t opcode) noexcept {
  constexpr unsigned kForms[6] = {kWritesRm | kByteSized,
                                  kWritesRm,
                                  kWritesReg | kByteSized,
                                  kWritesReg,
                                  kWritesAcc,
                                  kWritesAcc};
  return opcode >= 0x38 ? kWritesNothing : kForms[opcode & 7U];
}

// Opcodes whose middle field of the ModRM byte is part of them.
constexpr unsigned group_writes(const Instruction& i) noexcept {
  const unsigned extension = i.reg & 7U;
  const unsigned byte = (i.opcode & 1U) == 0 ? kByteSized : 0U;
  switch (i.opcode) {
    case 0x80:
    case 0x81:
    case 0x82:
    case 0x83:
      return extension == 7 ? kWritesNothing : kWritesRm | (i.opcode == 0x83 ? 0U : byte);
    case 0xf6:
    case 0xf7:
      return extension < 2   ? kWritesNothing
             : extension < 4 ? kWritesRm | byte
                             : kWritesAcc | kWritesData;
    default:
      break;
  }
  if (extension < 2) {  // FE, FF: inc, dec
    return kWritesRm | byte;
  }
  return extension == 2 || extension == 3 ? kWritesByCall : kWritesNothing;
}

constexpr unsigned writes_of(const Instruction& i) noexcept {
  if (i.map == OpcodeMap::k0f) {
    return i.opcode == 0xae && i.mod != 3 ? kWritesAll : kTwoByteWrites[i.opcode];
  }
  if (i.map != OpcodeMap::kOneByte) {
    return kWritesAll;
  }
  if (i.opcode < 0x40 && (i.opcode & 7U) < 6) {
    return arithmetic_writes(i.opcode);
  }
  const bool group = (i.opcode >= 0x80 && i.opcode <= 0x83) || i.opcode == 0xf6 ||
                     i.opcode == 0xf7 || i.opcode >= 0xfe;
  return group ? group_writes(i) : kOneByteWrites[i.opcode];
}

}  // namespace detail

constexpr Effects effects_of(const Instruction& i) noexcept {
  const unsigned writes = detail::writes_of(i);
  const auto bit = [&](unsigned number) {
    return 1U << (number & ((writes & detail::kByteSized) != 0 ? 3U : 7U));
  };
  unsigned registers = 0;
  registers |= (writes & detail::kWritesReg) != 0 ? bit(i.reg) : 0U;
  registers |= (writes & detail::kWritesRm) != 0 && i.mod == 3 ? bit(i.rm) : 0U;
  registers |= (writes & detail::kWritesCoded) != 0 ? bit(i.opcode) : 0U;
  registers |= (writes & detail::kWritesAcc) != 0 ? 1U : 0U;
  registers |= (writes & detail::kWritesCount) != 0 ? 2U : 0U;
  registers |= (writes & detail::kWritesData) != 0 ? 4U : 0U;
  return {static_cast<std::uint8_t>(registers), (writes & detail::kWritesRm) != 0 && i.mod != 3,
          (writes & detail::kWritesAll) != 0};
}

}  // namespace vvarclock::arch
