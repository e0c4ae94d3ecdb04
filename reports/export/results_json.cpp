#include "nsa/reports/export.hpp"

namespace nsa::reports {

Json measurements_json(const std::vector<Measurement>& rows, std::span<const Run> runs,
                       const std::string& exported_by) {
  Json document = Json::object();
  if (!exported_by.empty()) document["exported_by"] = exported_by;
  if (!runs.empty()) {
    document["runs"] = Json::array();
    for (const Run& run : runs) document["runs"].push_back(run);
  }
  document["measurements"] = Json::array();
  for (const Measurement& row : rows) document["measurements"].push_back(row);
  return document;
}

}  // namespace nsa::reports
