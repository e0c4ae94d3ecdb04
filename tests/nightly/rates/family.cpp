#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "../worlds.hpp"
#include "figure.hpp"

namespace nsa::test {

using namespace nightly;

namespace {

constexpr std::size_t kYear = 365, kFamily = 360;

/// Changes of one series that were reported before, so that each counts once.
class Seen {
 public:
  bool add(std::int64_t index) {
    for (const std::int64_t other : seen_)
      if (std::abs(other - index) <= 3) return false;
    seen_.push_back(index);
    return true;
  }

 private:
  std::vector<std::int64_t> seen_;
};

/// False changes in a year of nights, each judged with all the nights before it.
std::size_t false_changes(World& world, Noise noise) {
  const Series year = series_of(world.nights(kYear, noise));
  std::vector<Series> history(1, year);
  history[0].nights.clear();
  Options options;
  options.better = Better::both;
  Seen seen;
  std::size_t count = 0;
  for (const Night& night : year.nights) {
    history[0].nights.push_back(night);
    const Report report = judge(history, options);
    for (const Change& c : report.series[0].changes) count += seen.add(c.index);
  }
  return count;
}

Figure rate_of(const char* name, Noise noise, Share share) {
  const std::size_t years = scaled(2750, share);
  World world(static_cast<std::uint64_t>(noise) + 1);
  std::size_t count = 0;
  for (std::size_t i = 0; i < years; ++i) count += false_changes(world, noise);
  const double rate = static_cast<double>(count) / static_cast<double>(years);
  return {fmt::format("False changes a series-year, {}; judged every night, {} series-nights", name,
                      years * kYear),
          "1 or less", fmt::format("{:.3f}", rate), rate <= 1};
}

/// Whether five pairs of builds that do not differ confirm the alert of a series.
bool falsely_confirmed(World& world, const Series& series, double sd) {
  Confirmation pairs{series.name, {}};
  for (int i = 0; i < 5; ++i)
    pairs.old_and_new.emplace_back(std::exp(sd * world.normal()), std::exp(sd * world.normal()));
  Options options;
  options.confirmations = {pairs};
  return judge({series}, options).series[0].state == State::confirmed;
}

/// Alerts of a year of a family that a confirmation lets through; `alerts` counts all of them.
std::size_t confirmed_in_a_year(World& world, std::size_t& alerts) {
  std::vector<Series> years, history;
  for (std::size_t i = 0; i < kFamily; ++i) {
    years.push_back(
        series_of(world.nights(kYear, Noise::independent), 0.01, fmt::format("s{}", i)));
    history.push_back(years.back());
    history.back().nights.clear();
  }
  std::vector<Seen> seen(kFamily);
  std::size_t confirmed = 0;
  for (std::size_t night = 0; night < kYear; ++night) {
    for (std::size_t i = 0; i < kFamily; ++i) history[i].nights.push_back(years[i].nights[night]);
    const Report report = judge(history, {});
    for (std::size_t i = 0; i < kFamily; ++i) {
      const Verdict& v = report.series[i];
      if (v.state != State::suspect && v.state != State::confirmed && v.state != State::drift)
        continue;
      const bool step = v.state != State::suspect && !v.changes.empty();
      if (!seen[i].add(step ? v.changes.back().index : static_cast<std::int64_t>(night))) continue;
      ++alerts;
      confirmed += falsely_confirmed(world, history[i], 0.01);
    }
  }
  return confirmed;
}

Figure after_confirmation(Share share) {
  const std::size_t years = scaled(8, share);
  World world(77);
  std::size_t alerts = 0, confirmed = 0;
  for (std::size_t i = 0; i < years; ++i) confirmed += confirmed_in_a_year(world, alerts);
  const double rate = static_cast<double>(confirmed) / static_cast<double>(years);
  return {fmt::format("False alerts a year of {} series that five pairs of builds confirm; {} "
                      "alerts in {} series-nights",
                      kFamily, alerts, years * kYear * kFamily),
          "2 or fewer", fmt::format("{:.2f}", rate), rate <= 2};
}

/// Red series of a family in which one of twenty took a step ten nights ago.
Figure false_discoveries(double size, Share share) {
  constexpr std::size_t kNights = 40, kStep = 30;
  const std::size_t families = scaled(400, share);
  World world(static_cast<std::uint64_t>(size) + 400);
  double share_of_false = 0, found = 0;
  for (std::size_t f = 0; f < families; ++f) {
    std::vector<Series> family;
    for (std::size_t i = 0; i < kFamily; ++i) {
      std::vector<double> y = world.nights(kNights, Noise::independent);
      for (std::size_t n = kStep; n < kNights && i % 20 == 0; ++n) y[n] += size;
      family.push_back(series_of(y, 0.01, fmt::format("s{}", i)));
    }
    double red = 0, wrong = 0;
    const Report report = judge(family, {});
    for (std::size_t i = 0; i < kFamily; ++i) {
      red += report.series[i].regression;
      wrong += report.series[i].regression && i % 20 != 0;
    }
    share_of_false += wrong / std::max(1.0, red) / static_cast<double>(families);
    found += (red - wrong) / (kFamily / 20.0) / static_cast<double>(families);
  }
  return {fmt::format("False discoveries among the red, 5 % of {} series with a step of {} SD; {} "
                      "series-nights",
                      kFamily, size, families * kFamily * kNights),
          "5 % or less",
          fmt::format("{:.2f} %, {:.0f} % of the steps found", 100 * share_of_false, 100 * found),
          share_of_false <= 0.05};
}

}  // namespace

std::vector<Figure> false_figures(Share share) {
  return {rate_of("independent nights", Noise::independent, share),
          rate_of("lag-1 correlation .4", Noise::autocorrelated, share),
          rate_of("3 % outlier nights", Noise::outliers, share),
          after_confirmation(share),
          false_discoveries(5, share),
          false_discoveries(2, share)};
}

}  // namespace nsa::test
