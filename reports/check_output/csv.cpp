// For spreadsheets and data frames.
#include <fmt/format.h>

#include "nsa/check_output/formats.hpp"
#include "nsa/reports/export.hpp"

namespace nsa::check_output {
namespace {

constexpr const char* kHeader =
    "series,state,regression,nights,index,time,direction,ratio,delta,low,high,p,q,first_commit,"
    "last_commit,environment,reverted,acked,reason\n";

std::string text_field(const Json& of, const char* key) {
  return reports::csv_cell(of.value(key, std::string()));
}

std::string number_field(const Json& of, const char* key) {
  return of.contains(key) ? of[key].dump() : "";
}

std::string change_cells(const Json& c) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}", c["index"].dump(),
                     text_field(c, "time"), c["direction"].get<std::string>(),
                     number_field(c, "ratio"), number_field(c, "delta"), c["interval"][0].dump(),
                     c["interval"][1].dump(), c["p"].dump(), c["q"].dump(),
                     text_field(c, "first_commit"), text_field(c, "last_commit"),
                     c["environment"].dump(), c["reverted"].dump(), c["acked"].dump());
}

}  // namespace

std::string csv(const Json& document) {
  constexpr std::string_view kNoChange = ",,,,,,,,,,,,,";
  std::string out = kHeader;
  for (const Json& series : document["series"]) {
    const std::string head =
        fmt::format("{},{},{},{}", text_field(series, "name"), series["state"].get<std::string>(),
                    series["regression"].dump(), series["nights"].dump());
    const std::string reason = text_field(series, "reason");
    for (const Json& change : series["changes"])
      out += fmt::format("{},{},{}\n", head, change_cells(change), reason);
    if (series["changes"].empty()) out += fmt::format("{},{},{}\n", head, kNoChange, reason);
  }
  return out;
}

}  // namespace nsa::check_output
