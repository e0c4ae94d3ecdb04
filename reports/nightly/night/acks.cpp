#include "acks.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "family.hpp"
#include "nsa/schemas/variant_text.hpp"

namespace nsa::nightly {
namespace {

constexpr std::int64_t kNear = 3;  // nights by which a change may be found beside its commit

bool is_date(std::string_view text) {
  if (text.size() < 10) return false;
  for (std::size_t i = 0; i < 10; ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  }
  return true;
}

/// Days since 1970 of a date or of Unix seconds.
std::optional<std::int64_t> day_of(std::string_view text) {
  const auto number = [&](std::size_t at, std::size_t size) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + size, value);
    return value;
  };
  using namespace std::chrono;
  if (is_date(text)) {
    const year_month_day date(year(number(0, 4)), month(static_cast<unsigned>(number(5, 2))),
                              day(static_cast<unsigned>(number(8, 2))));
    if (!date.ok()) return std::nullopt;
    return sys_days(date).time_since_epoch().count();
  }
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1e8 || seconds > 1e11)
    return std::nullopt;
  return static_cast<std::int64_t>(seconds / 86400);
}

const std::string& commit_of(const Night& night) {
  return night.commit.empty() ? night.time : night.commit;
}

/// A short hash is a prefix of the whole one.
bool same_commit(const std::string& a, const std::string& b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  return a == b || (shorter >= 7 && a.compare(0, shorter, b, 0, shorter) == 0);
}

/// Ordinals of the nights of a commit: the first and the last.
std::optional<std::pair<std::int64_t, std::int64_t>> nights_of(const Examined& e,
                                                               const std::string& commit) {
  std::optional<std::pair<std::int64_t, std::int64_t>> nights;
  for (std::size_t i = 0; i < e.series->nights.size(); ++i) {
    if (!same_commit(commit_of(e.series->nights[i]), commit)) continue;
    const std::int64_t ordinal = (*e.ordinal)[i];
    nights = nights ? std::pair(nights->first, ordinal) : std::pair(ordinal, ordinal);
  }
  return nights;
}

/// How many nights a change lies outside of the range of the ack; nothing where that is too far.
std::optional<std::int64_t> distance(const Examined& e, const Found& f, const Ack& ack) {
  std::int64_t away = 0;
  if (!ack.first_commit.empty()) {  // the change begins after it
    const auto nights = nights_of(e, ack.first_commit);
    if (!nights) return std::nullopt;
    away = std::max(away, nights->first + 1 - f.ordinal);
  }
  if (!ack.last_commit.empty()) {  // and with it at the latest
    const auto nights = nights_of(e, ack.last_commit);
    if (!nights) return std::nullopt;
    away = std::max(away, f.ordinal - nights->first);
  }
  return away <= kNear ? std::optional(away) : std::nullopt;
}

/// Regressions that an ack may cover.
std::vector<Found*> open_regressions(Examined& e) {
  std::vector<Found*> open;
  const auto add = [&](Found& f) {
    if (f.worse && f.cause == Cause::code && !f.change.acked) open.push_back(&f);
  };
  for (Found& f : e.found) add(f);
  if (e.surprise) add(*e.surprise);
  return open;
}

void apply(Examined& e, const Ack& ack, std::int64_t last, const Options& options) {
  const bool any_commit = ack.first_commit.empty() && ack.last_commit.empty();
  Found* nearest = nullptr;
  std::int64_t least = 0;
  for (Found* f : open_regressions(e)) {
    if (any_commit && !in_window(*f, last, options)) continue;
    const auto away = distance(e, *f, ack);
    if (!away || (nearest && *away >= least)) continue;
    nearest = f;
    least = *away;
  }
  if (!nearest) return;
  nearest->change.acked = true;
  nearest->change.answer = ack.reason + (ack.until.empty() ? "" : ", until " + ack.until);
}

}  // namespace

bool matches_glob(const std::string& glob, const std::string& name) {
  const auto matches = [&](const std::string& text) {
    return glob == text || fnmatch(glob.c_str(), text.c_str(), 0) == 0;
  };
  return matches(name) || matches(with_older_point(name));
}

bool counts_until(std::string_view until, std::string_view today) {
  if (until.empty()) return true;
  const auto end = day_of(until), now = day_of(today);
  return end && now && *now < *end;
}

void mark_acked(Examined& examined, std::int64_t last, const Options& options) {
  for (const Ack& ack : options.acks)
    if (matches_glob(ack.series, examined.series->name) && counts_until(ack.until, options.today))
      apply(examined, ack, last, options);
}

}  // namespace nsa::nightly
