// JUnit XML, for every CI system that shows tests.
#include <fmt/format.h>

#include <array>

#include "nsa/check_output/formats.hpp"
#include "nsa/schemas/text.hpp"
#include "words.hpp"

namespace nsa::check_output {
namespace {

/// Text for an attribute. Control characters, which no XML document may hold, are spelled out.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : visible(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

enum class Result { passed, failure, error, skipped };

Result result_of(const Json& series, int exit_code) {
  const std::string state = series["state"].get<std::string>();
  if (series["regression"].get<bool>()) return Result::failure;
  if (state == "missing" && exit_code == 4) return Result::failure;
  if (state == "failed") return Result::error;
  const bool judged =
      state != "warming_up" && state != "missing" && state != "new" && state != "removed";
  return judged ? Result::passed : Result::skipped;
}

/// "confirmed +5.1 % (+4.6 % to +5.7 %) since 2026-10-25, commits 1f2e..9a8b", or with the reason.
std::string message(const Json& series) {
  const std::string reason = series["reason"].get<std::string>();
  const Json* change = state_change(series);
  if (!change) return reason.empty() ? state_text(series) : state_text(series) + ": " + reason;
  const std::string commits = commits_text(*change);
  return fmt::format("{} {} ({}) since {}{}", state_text(series), size_text(*change),
                     interval_text(*change), (*change)["time"].get<std::string>(),
                     commits.empty() ? "" : ", commits " + commits);
}

std::string test_case(const Json& series, Result result) {
  const std::string head = fmt::format("    <testcase classname=\"nsatune.check\" name=\"{}\"",
                                       xml(series["name"].get<std::string>()));
  if (result == Result::passed) return head + "/>\n";
  const char* element = result == Result::failure ? "failure"
                        : result == Result::error ? "error"
                                                  : "skipped";
  return fmt::format("{}>\n      <{} type=\"{}\" message=\"{}\"/>\n    </testcase>\n", head,
                     element, xml(series["state"].get<std::string>()), xml(message(series)));
}

}  // namespace

std::string junit(const Json& document) {
  const int exit_code = document["exit_code"].get<int>();
  std::array<std::size_t, 4> count{};
  std::string cases;
  for (const Json& series : document["series"]) {
    const Result result = result_of(series, exit_code);
    ++count[static_cast<std::size_t>(result)];
    cases += test_case(series, result);
  }
  const auto of = [&](Result result) { return count[static_cast<std::size_t>(result)]; };
  const std::string counts =
      fmt::format("name=\"nsatune check\" tests=\"{}\" failures=\"{}\" errors=\"{}\"",
                  document["series"].size(), of(Result::failure), of(Result::error));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite {0} "
      "skipped=\"{1}\">\n{2}  </testsuite>\n</testsuites>\n",
      counts, of(Result::skipped), cases);
}

}  // namespace nsa::check_output
