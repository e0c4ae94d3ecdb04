// Text: one code point at a time, what is seen of it, how far two words are apart, counts and
// intervals in words. Functions share nothing: threads may call them at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace nsa {

/// The fewest slips that make one of the other: a byte put in, left out or replaced, or two
/// neighbours swapped (Damerau and Levenshtein, no byte touched twice).
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The name that was meant by a word that is none of them; "" where none is near. Of several that
/// are as near, the one that begins most like the word.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> names);
/// "; did you mean NAME?", or "" where none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names);

/// "1 run", "2 runs": of a noun whose plural takes an s.
std::string counted(std::int64_t count, std::string_view noun);
/// The interval of a ratio: "[0.97, 1.04]"; "[not known]" where the bounds are a factor of 10,000
/// apart or more, as those of two samples are.
std::string format_interval(double low, double high);

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};
/// The code point at the front of `text`, which is not empty. Overlong forms, surrogates and cut
/// sequences are not valid and take one byte.
CodePoint next_code_point(std::string_view text);

/// Whether all of it is valid UTF-8, as JSON and YAML demand; arguments and file names may hold any
/// bytes.
bool is_utf8(std::string_view text);
/// The text of a file without the UTF-8 byte order mark that some editors put before it.
std::string_view without_byte_order_mark(std::string_view text);

/// The text with everything that a terminal acts upon, or that is not seen, spelled out: controls
/// as "\x1b" and "\u009b" ("\n", "\t" and "\r" by their names), bytes that are no UTF-8 as "\xff",
/// overrides of the direction, separators of lines and invisible characters as "\u202e". What is
/// left is valid UTF-8 on one line, and stays as it is when the function sees it again.
std::string visible(std::string_view text);

}  // namespace nsa
