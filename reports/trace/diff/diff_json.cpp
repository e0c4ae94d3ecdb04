#include "nsa/trace/diff_json.hpp"

#include "diff/fields.hpp"

namespace nsa::trace {

Json to_document(const TraceDiff& diff) {
  Json j{{"schema_version", 1}};
  j.update(fields::object_of(diff));
  if (diff.ranks.empty()) return j;
  j["ranks"] = Json::array();
  for (const TraceDiff& rank : diff.ranks) j["ranks"].push_back(to_document(rank));
  return j;
}

}  // namespace nsa::trace
