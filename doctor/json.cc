#include "doctor/json.h"

#include "doctor/text.h"

namespace vvarclock::doctor {

Json& Json::string(std::string_view value) {
  separate();
  text_ += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
    }
    text_ += c >= ' ' && c <= '~'
                 ? c
                 : '?';  // what we print is ASCII; a strange path must not break the reader
  }
  text_ += '"';
  return *this;
}

Json& Json::number(std::int64_t value) { return raw(std::to_string(value)); }

Json& Json::number(double value) { return raw(fixed(value, 2)); }

}  // namespace vvarclock::doctor
