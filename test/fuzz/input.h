// The fuzzer's bytes, taken piece by piece; zeros where they have ended. Depends on nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace vvarclock::test {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  template <class T>
  T take() {
    T value{};
    fill(&value, sizeof(value));
    return value;
  }

  void fill(void* to, std::size_t size) {
    const std::size_t given = size < left_ ? size : left_;
    std::memset(to, 0, size);
    if (given != 0) {
      std::memcpy(to, data_, given);
    }
    data_ += given;
    left_ -= given;
  }

  [[nodiscard]] bool empty() const { return left_ == 0; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

inline void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace vvarclock::test
