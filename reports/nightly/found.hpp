// A change, with what is needed to judge it further.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nsa/nightly/judge.hpp"

namespace nsa::nightly {

/// What moved a level; the code, as long as nothing else explains it.
enum class Cause : std::uint8_t { code, machine, clock };

struct Found {
  Change change;
  std::size_t begin = 0, at = 0, end = 0;  // data of the old level, [begin, at), and the new one
  std::int64_t ordinal = 0;                // of its first night
  double old_level = 0, new_level = 0;     // data
  bool worse = false;
  bool drift = false;  // up to the last night, night by night
  Cause cause = Cause::code;

  double size() const { return new_level - old_level; }
};

}  // namespace nsa::nightly
