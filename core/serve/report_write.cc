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

// The path may lie in a directory that others can write to, and the report names addresses. So it
// goes into a regular file of this user's and no one else's, under one name, and no symbolic link
// is followed in the last part of the path. Null: it is such a file.
const char* objection(const struct stat& status) noexcept {
  if (S_ISLNK(status.st_mode)) {
    return "a symbolic link is not followed";
  }
  if (!S_ISREG(status.st_mode)) {
    return "it is not a regular file";
  }
  if (status.st_uid != ::geteuid()) {
    return "it belongs to somebody else";
  }
  return status.st_nlink > 1 ? "it has more than one name (hard link)" : nullptr;
}

// By system call: fstat and its kin became names of their own in glibc 2.33, and we run on older
// ones.
bool look_at(int file, struct stat& status) noexcept {
  return arch::raw_syscall(arch::kFstat, file, reinterpret_cast<long>(&status)) == 0;
}
long look_at(const char* path, struct stat& status) noexcept {
  return arch::raw_syscall(arch::kFstatat, AT_FDCWD, reinterpret_cast<long>(path),
                           reinterpret_cast<long>(&status), AT_SYMLINK_NOFOLLOW);
}

// A file that is not there is created, exclusively and for its owner alone. One that is there is
// looked at first, because opening a device or a FIFO can do something, and again once it is open,
// because it may be another one by then. Negative: trouble says what is wrong.
int open_to_append(const char* path, const char*& trouble) noexcept {
  constexpr int kManners = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  constexpr int kTurns = 3;  // somebody creates it and removes it meanwhile
  trouble = "it cannot be opened";
  struct stat status {};
  for (int turn = 0; turn < kTurns; ++turn) {
    const long seen = look_at(path, status);
    const char* const wrong = seen == 0 ? objection(status) : nullptr;
    if (wrong != nullptr) {
      trouble = wrong;
      return -1;
    }
    const int file =
        ::open(path, seen == 0 ? kManners : kManners | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (file >= 0 || (errno != EEXIST && errno != ENOENT)) {
      return file;
    }
  }
  return -1;
}

// Null: done; else what went wrong.
const char* append_to_file(const char* path, std::string_view text) noexcept {
  const char* trouble = nullptr;
  const int file = open_to_append(path, trouble);
  if (file < 0) {
    return trouble;
  }
  struct stat status {};
  trouble = look_at(file, status) ? objection(status) : "it cannot be looked at";
  if (trouble == nullptr &&
      ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
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
