// The table of formats.
#include "nsa/check_output/formats.hpp"
#include "nsa/reports/fit_lines.hpp"

#include <array>

#include "nsa/schemas/error.hpp"

namespace nsa::check_output {
namespace {

std::string json(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

struct Format {
  std::string_view name;
  std::string (*render)(const Json& document);  // null: text, which has a style
};
constexpr std::array<Format, 6> kFormats{{{"text", nullptr},
                                          {"json", json},
                                          {"markdown", markdown},
                                          {"comment", comment},
                                          {"junit", junit},
                                          {"csv", csv}}};

}  // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::string render(const Json& document, std::string_view name, reports::Style style) {
  for (const Format& format : kFormats) {
    if (format.name == name)
      return format.render ? format.render(document)
                           : reports::fit_lines(text(document, style), style.columns);
  }
  throw ContractError("expected: a format of format_names()");
}

}  // namespace nsa::check_output
