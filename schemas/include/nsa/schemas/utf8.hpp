// One code point of UTF-8 at a time.
#pragma once

#include <cstdint>
#include <string_view>

namespace nsa {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};
/// The code point at the front of `text`, which is not empty. Overlong forms, surrogates and cut
/// sequences are not valid and take one byte.
CodePoint next_code_point(std::string_view text);

}  // namespace nsa
