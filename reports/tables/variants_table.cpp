#include "nsa/reports/tables.hpp"
#include "nsa/reports/text_table.hpp"

namespace nsa::reports {
namespace {

std::string joined(const Json& words) {
  std::string text;
  for (const Json& word : words) text += (text.empty() ? "" : "+") + word.get<std::string>();
  return text;
}

/// "bq=32,64 st=3".
std::string coordinates_text(const Json& coordinates) {
  std::string text;
  for (const auto& [name, values] : coordinates.items()) {
    text += (text.empty() ? "" : " ") + name + "=";
    for (std::size_t i = 0; i < values.size(); ++i) {
      text += (i > 0 ? "," : "") + std::to_string(values[i].get<std::int64_t>());
    }
  }
  return text;
}

Cell state_cell(const std::string& state) {
  if (state == "available") return {state, Ink::good};
  return {state, state == "not_built" ? Ink::dim : Ink::warn};
}

/// "forward, saves lse_sel": in training a launch of its own, of direction forward_saving.
std::string direction_text(const Json& row) {
  std::string text = row.at("direction").get<std::string>();
  for (const Json& saved : row.at("saves")) text += ", saves " + saved.get<std::string>();
  return text;
}

}  // namespace

std::string variants_table(const Json& rows, Style style) {
  TextTable table;
  table.add_column("stage");
  table.add_column("direction");
  table.add_column("variant");
  table.add_column("points");
  table.add_column("role");
  table.add_column("device");
  table.add_column("state");
  table.add_column("reason");
  for (const Json& row : rows) {
    std::vector<Cell> cells{
        joined(row.at("stages")), direction_text(row), row.at("name").get<std::string>(),
        coordinates_text(row.at("coordinates")), row.at("role").get<std::string>()};
    if (row.at("devices").empty()) {  // a back end without a device here
      cells.emplace_back(row.at("backend").get<std::string>());
      cells.emplace_back("no device", Ink::dim);
      table.add_row(std::move(cells));
      continue;
    }
    for (const Json& device : row.at("devices")) {
      std::vector<Cell> line = cells;
      line.emplace_back(device.at("device").get<std::string>());
      line.push_back(state_cell(device.at("state").get<std::string>()));
      line.emplace_back(device.value("reason", std::string()));
      table.add_row(std::move(line));
    }
  }
  return table.render(style);
}

}  // namespace nsa::reports
