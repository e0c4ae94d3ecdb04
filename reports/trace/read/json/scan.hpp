// Where values end, without looking into them. Whether they are JSON is for the parser to say.
#pragma once

#include <cstddef>
#include <string_view>

namespace nsa::trace {

inline constexpr int kMaxJsonDepth = 200;

struct ValueScan {
  std::size_t end = 0;  // past the last whole value
  bool whole = false;   // there is one
  bool closed = false;  // the bracket that closes what is around them stands at `end`
  bool too_deep = false;
  std::size_t deep_at = 0;
};

/// From the first byte of a value: where it ends. With `many`, values separated by commas until a
/// closing bracket or the end of the text: where the last whole one ends.
ValueScan scan_values(std::string_view text, bool many);
/// Length of the string that begins at byte 0 (a quote), with both quotes; 0 when its end is not
/// there.
std::size_t scan_string(std::string_view text);

/// Where the comma between two objects stands that is the last one to look like it: "}, {\"". It
/// may also stand in a list inside of an element or, hardly ever, in a string. 0: nowhere.
std::size_t last_object_end(std::string_view text);

}  // namespace nsa::trace
