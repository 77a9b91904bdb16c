// Is a text one JSON value? Syntax alone, of what our reports use: no exponents, no escapes but \"
// and
// \\ in strings. Depends on nothing.
#pragma once

#include <string_view>

namespace vvarclock::test {

class JsonSyntax {
 public:
  explicit JsonSyntax(std::string_view text) : left_(text) {}

  bool whole() { return value() && left_.empty(); }

 private:
  bool value() {
    skip_spaces();
    if (left_.starts_with('{')) {
      return list('{', '}', [this] { return string() && take(':') && value(); });
    }
    if (left_.starts_with('[')) {
      return list('[', ']', [this] { return value(); });
    }
    return left_.starts_with('"') ? string()
                                  : word("true") || word("false") || word("null") || number();
  }

  template <class Item>
  bool list(char open, char close, Item item) {
    if (!take(open)) {
      return false;
    }
    if (take(close)) {
      return true;
    }
    do {
      if (!item()) {
        return false;
      }
    } while (take(','));
    return take(close);
  }

  bool string() {
    if (!take('"')) {
      return false;
    }
    while (!left_.empty() && left_.front() != '"') {
      const bool escape = left_.front() == '\\';
      if (escape && !left_.starts_with("\\\\") && !left_.starts_with("\\\"")) {
        return false;
      }
      left_.remove_prefix(escape ? 2 : 1);
    }
    return take('"');
  }

  bool number() {
    take('-');
    const bool zero = left_.starts_with('0');
    std::size_t digits = 0;
    while (digits < left_.size() && left_[digits] >= '0' && left_[digits] <= '9') {
      ++digits;
    }
    left_.remove_prefix(digits);
    return digits == 1 || (digits > 1 && !zero);
  }

  bool word(std::string_view expected) {
    const bool found = left_.starts_with(expected);
    left_.remove_prefix(found ? expected.size() : 0);
    return found;
  }

  bool take(char c) {
    skip_spaces();
    const bool found = left_.starts_with(c);
    left_.remove_prefix(found ? 1 : 0);
    return found;
  }

  void skip_spaces() {
    while (left_.starts_with(' ')) {
      left_.remove_prefix(1);
    }
  }

  std::string_view left_;
};

inline bool is_json(std::string_view text) { return JsonSyntax(text).whole(); }

}  // namespace vvarclock::test
