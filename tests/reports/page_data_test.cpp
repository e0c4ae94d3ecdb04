// The data of the page: nights as small whole numbers, levels, and slopes.
#include <cmath>

#include "catch.hpp"
#include "nsa/page/history.hpp"
#include "nsa/page/page.hpp"
#include "nsa/page/slope.hpp"

namespace nsa::page {
namespace {

nightly::Night night(std::int64_t index, std::vector<double> values,
                     const std::string& environment) {
  nightly::Night made;
  made.index = index;
  made.time = std::to_string(index);
  made.values = std::move(values);
  made.environment = environment;
  return made;
}

nightly::Series series_of(std::vector<nightly::Night> nights) {
  nightly::Series series;
  series.name = "one";
  series.nights = std::move(nights);
  return series;
}

Json history_of(const nightly::Series& series, std::vector<nightly::Change> changes = {}) {
  nightly::Verdict verdict;
  verdict.name = series.name;
  verdict.changes = std::move(changes);
  return history_json({series}, {verdict})["series"][0];
}

TEST_CASE("a night is a median and its distance to the lowest and highest replicate") {
  const Json json =
      history_of(series_of({night(0, {1.9, 2.0, 2.2}, ""), night(3, {}, ""), night(6, {2.1}, "")}));
  const double quantum = json["quantum"];
  CHECK(json["median"][0].get<double>() * quantum == Approx(2.0).margin(1.1e-4));
  CHECK(json["below"][0].get<double>() * quantum == Approx(0.1).margin(1.1e-4));
  CHECK(json["above"][0].get<double>() * quantum == Approx(0.2).margin(1.1e-4));
  CHECK(json["median"][1].is_null());
  CHECK(json["median"][2].get<double>() * quantum ==
        Approx(0.1).margin(1.1e-4));  // from the night before
}

TEST_CASE("values around zero and beyond all others keep whole numbers small") {
  const Json json =
      history_of(series_of({night(0, {-1.0}, ""), night(1, {0.0}, ""), night(2, {1e300}, "")}));
  for (const Json& step : json["median"]) CHECK(std::abs(step.get<double>()) <= 2e9);
  const Json constant = history_of(series_of({night(0, {0.0}, ""), night(1, {0.0}, "")}));
  CHECK(constant["median"] == Json{0, 0});
}

TEST_CASE("a level ends at a change and at another environment") {
  nightly::Change change;
  change.index = 20;
  const Json json = history_of(series_of({night(0, {1}, "a"), night(10, {3}, "a"),
                                          night(20, {5}, "a"), night(30, {9}, "b")}),
                               {change});
  CHECK(json["segments"] == Json::parse("[[0, 2, 2.0], [2, 3, 5.0], [3, 4, 9.0]]"));
}

TEST_CASE("the slope of a power law is its power, with an interval where there is noise") {
  const auto exact = log_log_slope({{128, 3.0}, {256, 12.0}, {512, 48.0}});
  REQUIRE(exact);
  CHECK(exact->slope == Approx(2));
  CHECK(exact->high - exact->low == Approx(0).margin(1e-6));
  // By hand: x = 0, 1, 2 and y = 0, 2, 1 in units of log 2; slope .5, its error sqrt(1.5 / 2).
  const auto noisy = log_log_slope({{1, 1.0}, {2, 4.0}, {4, 2.0}});
  REQUIRE(noisy);
  CHECK(noisy->slope == Approx(0.5));
  CHECK(noisy->high - noisy->slope == Approx(12.7062 * std::sqrt(0.75)).epsilon(1e-4));
  CHECK_FALSE(log_log_slope({{1, 1.0}, {2, 4.0}}));
  CHECK_FALSE(log_log_slope({{2, 1.0}, {2, 4.0}, {2, 3.0}}));
}

TEST_CASE("no text of the data ends its element") {
  const Json data{{"name", "</script><!-- \xE2\x80\xA8 {{VEGA}} \x01 \xFF"}};
  const std::string html = page_html(data, "");
  const std::size_t begin = html.find("id=\"data\">"), end = html.find("</script>", begin);
  const std::string text = html.substr(begin + 10, end - begin - 10);
  CHECK(text.find('<') == std::string::npos);
  CHECK(text.find("\xE2\x80\xA8") == std::string::npos);
  CHECK(Json::parse(text)["name"] == "</script><!-- \xE2\x80\xA8 {{VEGA}} \x01 \xEF\xBF\xBD");
}

}  // namespace
}  // namespace nsa::page
