// Counts as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nsa::tuner {

/// 8192 of "8192" and "8k", 1536 of "1.5k", 2^20 of "1M", 1000 of "1e3": k and m are powers of
/// 1024, as lengths are. Nothing where the text is no whole number of 64 bits.
std::optional<std::int64_t> parse_count(std::string_view text);
/// The values of "128:65536:x2" or "1000:8k:+1000", both ends in it where the steps meet them;
/// nothing where the text is no range. InputError on a range that never ends or has over 4096.
std::optional<std::vector<std::string>> parse_range(std::string_view text);

}  // namespace nsa::tuner
