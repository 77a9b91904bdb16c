// JSON by hand: an object or array under construction, with the commas in the right places.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vvarclock::doctor {

class Json {
 public:
  Json& open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  Json& close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  Json& key(std::string_view name) {
    string(name);
    text_ += ": ";
    first_ = true;
    return *this;
  }
  Json& string(std::string_view value);
  Json& number(std::int64_t value);
  Json& number(double value);  // two places
  Json& boolean(bool value) { return raw(value ? "true" : "false"); }
  Json& null() { return raw("null"); }
  // Ready-made JSON: a value, or the members of an object.
  Json& raw(std::string_view text) {
    separate();
    text_ += text;
    return *this;
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void separate() {
    if (!first_) {
      text_ += ", ";
    }
    first_ = false;
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace vvarclock::doctor
