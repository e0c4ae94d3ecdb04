// Looking into messages.
#pragma once

#include <string>

namespace nsa::test {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace nsa::test
