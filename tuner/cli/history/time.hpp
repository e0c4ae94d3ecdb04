// The time of a night as people and programs write it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nsa::cli {

/// A time that can be compared with others of its kind.
struct NightTime {
  bool calendar = false;  // else a number: Unix seconds or a plain index
  double value = 0;       // seconds since 1970 of a calendar time, else the number itself
  bool operator==(const NightTime&) const = default;
};

/// ISO 8601 ("2026-11-23", "2026-11-23T02:00:00.5Z", "2026-11-23 02:00+01:00"), the same with dots
/// in the date and a blank before the zone as Otava's examples have it ("2026.11.23 2:00:00
/// +0100"), or a number. Without a zone it is UTC. Nothing for any other text or a day that no
/// month has.
std::optional<NightTime> parse_night_time(std::string_view text);
/// The UTC day of a calendar time or of Unix seconds, "2026-11-23"; nothing for a plain index.
std::optional<std::string> utc_day(const NightTime& time);
/// Whether it is a day alone: "2026-11-23".
bool is_date(std::string_view text);

}  // namespace nsa::cli
