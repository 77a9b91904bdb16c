#include "bench/machine.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <cstring>

#include "arch/x86/cpu.h"
#include "bench/plan.h"
#include "core/discover/discovery.h"
#include "core/serve/options.h"
#include "core/serve/report.h"
#include "doctor/calls.h"
#include "doctor/clock_source.h"
#include "doctor/library.h"

namespace vvarclock::bench {
namespace {

// The name that the CPU gives itself (CPUID 0x80000002 to 0x80000004, 48 characters).
std::string cpu_name() {
  constexpr unsigned kFirst = 0x80000002;
  std::string name;
  for (unsigned leaf = kFirst; leaf < kFirst + 3; ++leaf) {
    const arch::CpuidRegisters r = arch::cpuid(leaf);
    for (const unsigned part : {r.eax, r.ebx, r.ecx, r.edx}) {
      char letters[sizeof(part)];
      std::memcpy(letters, &part, sizeof(part));
      name.append(letters, sizeof(part));
    }
  }
  name.erase(std::min(name.find('\0'), name.size()));
  const std::size_t begin = name.find_first_not_of(' ');
  name.erase(name.find_last_not_of(' ') + 1);
  return begin == std::string::npos ? "unknown CPU" : name.substr(begin);
}

void look_at_page(Machine& machine) {
  const discover::Discovery found =
      discover::discover(discover::host_kernel(discover::counter_allowed()),
                         discover::vdso_address(), discover::kAttachEffort);
  if (found.outcome == discover::Outcome::kBound) {
    machine.layout = found.layout->name;
    machine.clock_mode = arch::clock_mode_name(serve::clock_mode_now(found));
  }
}

// What still succeeds where the kernel refuses every clock system call is served. The doctor's
// table lacks timespec_get, which is served when CLOCK_REALTIME is.
void look_at_service(const Way& ours, Machine& machine) {
  doctor::Way way;
  way.clock_gettime = ours.clock_gettime;
  way.gettimeofday = ours.gettimeofday;
  way.time = ours.time;
  way.clock_getres = ours.clock_getres;
  const auto served = doctor::calls_without_syscall(way);
  for (std::size_t i = 0; served && i < doctor::kCalls.size(); ++i) {
    if ((*served & (1U << i)) == 0) {
      machine.by_syscall.emplace_back(doctor::kCalls[i].name);
    }
  }
}

}  // namespace

Machine look_at_machine(const Way& ours) {
  Machine machine;
  utsname name{};
  if (::uname(&name) == 0) {
    machine.kernel = std::string(name.sysname) + ' ' + name.release;
  }
  machine.cpu = cpu_name();
  machine.hypervisor = arch::hypervisor_signature().data();
  machine.hypervisor.erase(machine.hypervisor.find_last_not_of(' ') + 1);
  machine.cpus = allowed_cpus().size();
  machine.libc = std::string("glibc ") + ::gnu_get_libc_version();
  machine.clock_source = doctor::read_clock_source("").current;
  machine.has_rdtscp = arch::has_rdtscp();
  machine.has_invariant_tsc = arch::has_invariant_tsc();
  machine.ordered = arch::name(serve::resolve(serve::OrderChoice::kOrdered, machine.has_rdtscp));
  look_at_page(machine);
  look_at_service(ours, machine);
  return machine;
}

}  // namespace vvarclock::bench
