// JSON of problems and their classes, variants and devices: flat keys, as in the worker protocol.
#include "nsa/schemas/fields/problem.hpp"
#include "nsa/schemas/fields/json.hpp"

namespace nsa::fields {

Json value_of(const Point& point) {
  Json j = Json::object();
  for (const auto& [name, value] : point) j[name] = value;
  return j;
}

void get(const Json& j, Point& out) {
  require_object(j);
  out.clear();
  for (const auto& [name, value] : j.items())
    require(j, name.c_str(), out.emplace_back(name, 0).second);
}

}  // namespace nsa::fields

namespace nsa {

void to_json(Json& j, const Problem& v) { j = fields::object_of(v); }

void from_json(const Json& j, Problem& v) {
  fields::read_object(j, v);
  // Without contexts nothing is cached, for as many sequences as there are.
  if (!j.contains("context_lens")) v.context_lens.assign(v.seq_lens.size(), 0);
}

void to_json(Json& j, const ProblemClass& v) { j = fields::object_of(v); }
void to_json(Json& j, const VariantId& v) { j = fields::object_of(v); }
void to_json(Json& j, const Device& v) { j = fields::object_of(v); }
void to_json(Json& j, const Placed& v) { j = fields::object_of(v); }
void from_json(const Json& j, ProblemClass& v) { fields::read_object(j, v); }
void from_json(const Json& j, VariantId& v) {
  fields::read_object(j, v);
  v = with_current_coordinates(std::move(v));
}
void from_json(const Json& j, Device& v) { fields::read_object(j, v); }
void from_json(const Json& j, Placed& v) { fields::read_object(j, v); }
void to_json(Json& j, const Capability& v) { j = fields::object_of(v); }

}  // namespace nsa
