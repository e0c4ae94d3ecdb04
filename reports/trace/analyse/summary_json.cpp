#include "nsa/trace/summary_json.hpp"

#include "nsa/trace/who.hpp"
#include "summary_fields.hpp"

namespace nsa::trace {
namespace {

/// Beside each `part` the rank that it is.
void add_ranks(const Summary& s, Json& document) {
  const auto add = [&](Json& row) {
    fields::put_or_null(row, "rank", rank_of(s, row.at("part").get<std::uint32_t>()));
  };
  for (Json& device : document["devices"]) add(device);
  if (s.queue)
    for (Json& row : document["queue"]) add(row);
  if (s.gaps)
    for (Json& gap : document["gaps"]["longest"]) add(gap);
  if (s.worst_device) add(document["worst_device"]);
}

}  // namespace

Json to_document(const Summary& s) {
  Json j{{"schema_version", 1}};
  j.update(fields::object_of(s));
  add_ranks(s, j);
  return j;
}

Json to_document(const Summary& merged, const std::vector<Summary>& ranks) {
  Json j = to_document(merged);
  j["ranks"] = Json::array();
  for (const Summary& rank : ranks) j["ranks"].push_back(to_document(rank));
  return j;
}

}  // namespace nsa::trace
