// What a guest program found, as one line of JSON on standard output for the harness.
//
// Depends on libc. Text given to it is plain ASCII without quotes; it escapes nothing.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

namespace guest {

class Result {
 public:
  // The first few failures in words; all of them are counted. Threads may call this.
  [[gnu::format(printf, 2, 3)]] void fail(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    char text[240];
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const std::lock_guard lock(mutex_);
    ++failures_;
    if (problems_.size() < kProblemsKept) {
      problems_.emplace_back(text);
    }
  }
  // Something that could not be tried here, and why.
  void skip(const std::string& what) { skipped_.push_back(what); }
  void note(const std::string& what) { notes_.push_back(what); }

  [[nodiscard]] std::uint64_t failures() const { return failures_; }

  void print(const char* test, const char* order, const char* where, std::uint64_t brackets,
             const std::vector<std::string>& served) {
    std::string line = "result {\"test\":\"";
    line.append(test)
        .append("\",\"order\":\"")
        .append(order)
        .append("\",\"namespace\":\"")
        .append(where);
    line.append("\",\"bits\":").append(std::to_string(sizeof(void*) * 8));
    line.append(",\"brackets\":").append(std::to_string(brackets));
    line.append(",\"failures\":").append(std::to_string(failures_));
    append_list(line, "served", served);
    append_list(line, "problems", problems_);
    append_list(line, "skipped", skipped_);
    append_list(line, "notes", notes_);
    std::printf("%s}\n", line.c_str());
    std::fflush(stdout);
  }

 private:
  static constexpr std::size_t kProblemsKept = 8;

  static void append_list(std::string& line, const char* key,
                          const std::vector<std::string>& items) {
    line.append(",\"").append(key).append("\":[");
    const char* separator = "";
    for (const std::string& item : items) {
      line.append(separator).append("\"").append(item).append("\"");
      separator = ",";
    }
    line.append("]");
  }

  std::mutex mutex_;
  std::uint64_t failures_ = 0;
  std::vector<std::string> problems_;
  std::vector<std::string> skipped_;
  std::vector<std::string> notes_;
};

}  // namespace guest
