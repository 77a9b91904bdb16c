// The registers of a traced process by what they are for: their names differ with the width.
#pragma once

#include <sys/user.h>

namespace vvarclock::process {

#ifdef __x86_64__
inline auto& instruction_of(user_regs_struct& registers) { return registers.rip; }
inline auto& stack_of(user_regs_struct& registers) { return registers.rsp; }
inline auto& a_of(user_regs_struct& registers) { return registers.rax; }
inline auto& c_of(user_regs_struct& registers) { return registers.rcx; }
inline auto& d_of(user_regs_struct& registers) { return registers.rdx; }
using RegisterWord = unsigned long long;
#else
inline auto& instruction_of(user_regs_struct& registers) { return registers.eip; }
inline auto& stack_of(user_regs_struct& registers) { return registers.esp; }
inline auto& a_of(user_regs_struct& registers) { return registers.eax; }
inline auto& c_of(user_regs_struct& registers) { return registers.ecx; }
inline auto& d_of(user_regs_struct& registers) { return registers.edx; }
using RegisterWord = long;
#endif

}  // namespace vvarclock::process
