// The report on its way out: standard error or a file, with manners, since the process belongs to
// somebody else.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "arch/x86/raw_syscall.h"
#include "core/serve/held_signals.h"
#include "core/serve/report.h"

namespace vvarclock::serve {
namespace {

// Null: done; else what went wrong. A symbolic link is not followed and a FIFO is not waited for:
// the path may lie in a directory that others can write to.
const char* append_to_file(const char* path, std::string_view text) noexcept {
  const int file = ::open(
      path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (file < 0) {
    return errno == ELOOP ? "a symbolic link is not followed" : "it cannot be opened";
  }
  const char* trouble = nullptr;
  struct stat status {};
  // By system call: fstat became a name of its own in glibc 2.33, and we run on older ones.
  if (arch::raw_syscall(SYS_fstat, file, reinterpret_cast<long>(&status)) != 0 ||
      !S_ISREG(status.st_mode)) {
    trouble = "it is not a regular file";
  } else if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    trouble = "it does not take the report in one piece";
  }
  ::close(file);
  return trouble;
}

void write_file(const char* path, std::string_view text) noexcept {
  if (const char* const trouble = append_to_file(path, text)) {
    TextBuffer<512> message;
    message << "VVARCLOCK_REPORT ";
    message.quoted(path, 256) << ": " << trouble;
    say(message.view());
  }
}

void send(const Report& report, const Options& options) noexcept {
  const HeldSignals held;
  const bool to_file = options.report == ReportChoice::kFile;
  ReportBuffer out;
  if (options.report == ReportChoice::kJson ||
      (to_file && std::string_view(options.report_path).ends_with(".json"))) {
    append_json(report, out);
  } else {
    append_text(report, out);
  }
  if (to_file) {
    write_file(options.report_path, out.view());
  } else {
    write_all(STDERR_FILENO, out.view());
  }
}

}  // namespace

void write_report(const Report& report, const Options& options) noexcept {
  if (options.report == ReportChoice::kNone) {
    return;
  }
  const int host_errno = errno;
  send(report, options);
  errno = host_errno;
}

}  // namespace vvarclock::serve
