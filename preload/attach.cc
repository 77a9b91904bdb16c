// The one moment of attaching: options -> discovery -> dispatch. Never fails the host.
//
// Runs as a constructor, while other libraries may already have called the clocks and other threads
// may run. Whatever goes wrong leaves the table as it was, answering by system call. errno,
// descriptors, signals and the environment stay as they are; nothing is printed unless asked, or
// unless an option has a value that we do not know.
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <string_view>

#include "arch/x86/cpu.h"
#include "core/discover/discovery.h"
#include "core/serve/dispatch.h"
#include "core/serve/message.h"
#include "core/serve/options.h"
#include "core/serve/raw_reader.h"
#include "core/serve/report.h"

namespace vvarclock {
namespace {

// Null in a set-user-ID program: its caller has no say there.
const char* environment(const char* variable) noexcept { return ::secure_getenv(variable); }

// Does any variable begin as ours do? Mostly none does, and then secure_getenv, on a page of libc's
// code that most starts do not come by, is not asked: it was 0.7 % of an exec of /bin/true.
bool may_have_options() noexcept {
  constexpr std::string_view kPrefix = serve::kVariablePrefix;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    std::size_t same = 0;
    while (same < kPrefix.size() && (*variable)[same] == kPrefix[same]) {
      ++same;
    }
    if (same == kPrefix.size()) {
      return true;
    }
  }
  return false;
}

void say_bad_values(const serve::Options& options) noexcept {
  for (std::size_t i = 0; i < options.bad_count; ++i) {
    const serve::BadValue& bad = options.bad[i];
    serve::TextBuffer<256> text;
    text << bad.variable << ": unknown value ";
    text.quoted(bad.value) << ", taking " << bad.taken;
    serve::say(text.view());
  }
}

void say_denied_wishes(const serve::Options& options, const discover::Discovery& found,
                       bool has_rdtscp) noexcept {
  if (options.order == serve::OrderChoice::kRdtscp && !has_rdtscp) {
    serve::say("VVARCLOCK_ORDER: this CPU does not offer rdtscp, taking lfence");
  }
  if (options.source == serve::Source::kVvar && found.outcome != discover::Outcome::kBound) {
    serve::TextBuffer<256> text;
    text << "VVARCLOCK_SOURCE=vvar: " << describe(found.outcome) << ", taking the system call";
    serve::say(text.view());
  }
}

void start() noexcept {
  const bool counter_allowed = discover::counter_allowed();
  const discover::Kernel& kernel = discover::host_kernel(counter_allowed);
  const std::byte* const vdso = discover::vdso_address();
  // Emulators that have no vDSO may lack the counter, whatever they say.
  const auto counter = [&] {
    return kernel.counter == nullptr || vdso == nullptr ? 0 : kernel.counter();
  };
  const std::uint64_t began = counter();
  const serve::Options options =
      may_have_options() ? serve::parse_options(&environment) : serve::Options{};
  say_bad_values(options);
  const bool has_rdtscp = arch::has_rdtscp();
  const arch::Ordering ordering = serve::resolve(options.order, has_rdtscp);
  if (!options.on) {
    serve::write_report({nullptr, &options, ordering, counter_allowed, false}, options);
    return;
  }
  const discover::Discovery found = discover::discover(kernel, vdso, discover::kAttachEffort);
  say_denied_wishes(options, found, has_rdtscp);
  const bool attached =
      found.outcome == discover::Outcome::kBound && options.source != serve::Source::kSyscall;
  if (attached) {
    const vvar::BlockKind kind = found.layout->block;
    const arch::ClockMode mode = serve::clock_mode_now(found);
    if (options.raw == serve::RawChoice::kAuto && counter_allowed) {
      serve::begin_raw_clock(found.binding, kind, mode);
    }
    const serve::Wanted wanted{ordering, counter_allowed, serve::mode_to_want(found.binding, mode)};
    serve::attach(found.binding, kind, serve::page_readers(kind, wanted));
  }
  const serve::Report report{&found,   &options, ordering, counter_allowed,
                             attached, began,    counter()};
  serve::write_report(report, options);
}

[[gnu::constructor]] void attach_at_load() noexcept {
  const int kept = errno;
  start();
  errno = kept;
}

}  // namespace
}  // namespace vvarclock
