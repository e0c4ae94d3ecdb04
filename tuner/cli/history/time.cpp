#include "time.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>

namespace nsa::cli {
namespace {

/// Takes parts from the front of a text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool done() const { return text_.empty(); }
  char front() const { return text_.empty() ? '\0' : text_.front(); }
  bool take(char c) {
    if (front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// A whole number of `least` to `most` digits.
  std::optional<int> digits(std::size_t least, std::size_t most) {
    std::size_t n = 0;
    int value = 0;
    while (n < most && n < text_.size() && text_[n] >= '0' && text_[n] <= '9')
      value = value * 10 + (text_[n++] - '0');
    if (n < least) return std::nullopt;
    text_.remove_prefix(n);
    return value;
  }

 private:
  std::string_view text_;
};

/// Seconds since 1970 of the midnight with which a day begins.
std::optional<double> take_date(Cursor& cursor) {
  const auto year = cursor.digits(4, 4);
  const char between = cursor.front();
  if (!year || (between != '-' && between != '.') || !cursor.take(between)) return std::nullopt;
  const auto month = cursor.digits(2, 2);
  if (!month || !cursor.take(between)) return std::nullopt;
  const auto day = cursor.digits(2, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return 86400.0 * static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

std::optional<double> take_clock(Cursor& cursor) {
  const auto hour = cursor.digits(1, 2);
  if (!hour || *hour > 24 || !cursor.take(':')) return std::nullopt;
  const auto minute = cursor.digits(2, 2);
  if (!minute || *minute > 59) return std::nullopt;
  double seconds = *hour * 3600.0 + *minute * 60.0;
  if (!cursor.take(':')) return seconds;
  const auto second = cursor.digits(2, 2);
  if (!second || *second > 60) return std::nullopt;
  seconds += *second;
  if (!cursor.take('.') && !cursor.take(',')) return seconds;
  double digit = 0.1;
  if (cursor.front() < '0' || cursor.front() > '9') return std::nullopt;
  for (; cursor.front() >= '0' && cursor.front() <= '9'; digit /= 10)
    seconds += digit * *cursor.digits(1, 1);
  return seconds;
}

/// Seconds by which the zone is ahead of UTC.
std::optional<double> take_zone(Cursor& cursor) {
  if (cursor.done() || cursor.take('Z')) return 0.0;
  cursor.take(' ');
  const bool behind = cursor.take('-');
  if (!behind && !cursor.take('+')) return std::nullopt;
  const auto hour = cursor.digits(2, 2);
  if (!hour) return std::nullopt;
  cursor.take(':');
  const int minute = cursor.digits(2, 2).value_or(0);
  const double ahead = *hour * 3600.0 + minute * 60.0;
  return behind ? -ahead : ahead;
}

std::optional<double> parse_calendar(std::string_view text) {
  Cursor cursor(text);
  const auto date = take_date(cursor);
  if (!date || cursor.done()) return date;
  if (!cursor.take('T') && !cursor.take(' ')) return std::nullopt;
  const auto clock = take_clock(cursor);
  if (!clock) return std::nullopt;
  const auto zone = take_zone(cursor);
  if (!zone || !cursor.done()) return std::nullopt;
  return *date + *clock - *zone;
}

}  // namespace

std::optional<NightTime> parse_night_time(std::string_view text) {
  if (const auto seconds = parse_calendar(text)) return NightTime{true, *seconds};
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || !std::isfinite(number)) return std::nullopt;
  return NightTime{false, number};
}

std::optional<std::string> utc_day(const NightTime& time) {
  // Indices of nights are small, and Unix seconds since 1973 are not.
  constexpr double kLeastUnix = 1e8, kMostUnix = 1e11;
  if (!time.calendar && (time.value < kLeastUnix || time.value > kMostUnix)) return std::nullopt;
  const std::chrono::sys_days day{
      std::chrono::days(static_cast<std::int64_t>(std::floor(time.value / 86400)))};
  const std::chrono::year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

bool is_date(std::string_view text) {
  Cursor cursor(text);
  return text.find('.') == std::string_view::npos && take_date(cursor) && cursor.done();
}

}  // namespace nsa::cli
