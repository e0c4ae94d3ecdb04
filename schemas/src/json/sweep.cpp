// JSON of a sweep spec. A user writes only what differs from the defaults.
#include <charconv>

#include "fields.hpp"

namespace nsa {
namespace {

using fields::put;
using fields::read;
using fields::require;

/// An axis value keeps its text; it is a number in JSON where the number has
/// that very text.
Json axis_value_json(const std::string& text) {
  const char* const end = text.data() + text.size();
  std::int64_t integer = 0;
  if (const auto r = std::from_chars(text.data(), end, integer);
      r.ec == std::errc{} && r.ptr == end && std::to_string(integer) == text)
    return integer;
  double real = 0;
  if (const auto r = std::from_chars(text.data(), end, real);
      r.ec == std::errc{} && r.ptr == end && std::isfinite(real) && Json(real).dump() == text)
    return real;
  return fields::printable(text);
}

std::string axis_value_text(const Json& j) {
  if (j.is_string()) return j.get_ref<const std::string&>();
  if (j.is_number()) return j.dump();
  throw fields::FieldError("", "is neither a number nor a string");
}

Json axes_json(const ProblemFamily& family) {
  Json j = Json::object();
  for (const auto& [name, values] : family.axes) {
    Json list = Json::array();
    for (const auto& value : values) list.push_back(axis_value_json(value));
    j[name] = std::move(list);
  }
  return j;
}

void read_axis(const Json& j, std::vector<std::string>& values) {
  if (!j.is_array()) throw fields::FieldError("", "is not an array");
  for (std::size_t i = 0; i < j.size(); ++i) {
    try {
      values.push_back(axis_value_text(j[i]));
    } catch (const fields::FieldError& error) {
      throw error.below(std::to_string(i));
    }
  }
}

void read_axes(const Json& j, ProblemFamily& family) {
  const auto axes = j.find("axes");
  if (axes == j.end()) return;
  fields::require_object(*axes);
  for (const auto& [name, values] : axes->items()) {
    try {
      read_axis(values, family.axes.emplace_back(name, std::vector<std::string>{}).second);
    } catch (const fields::FieldError& error) {
      throw error.below(name).below("axes");
    }
  }
}

}  // namespace

static void to_json(Json& j, const ProblemFamily& v) {
  j = Json::object();
  put(j, "name", v.name);
  put(j, "base", v.base);
  j["axes"] = axes_json(v);
  if (!v.stages.empty()) put(j, "stages", v.stages);
  if (!v.variants.empty()) put(j, "variants", v.variants);
  if (!v.roles.empty()) put(j, "roles", v.roles);
}

static void from_json(const Json& j, ProblemFamily& v) {
  v = {};
  require(j, "name", v.name);
  read(j, "base", v.base);
  read_axes(j, v);
  read(j, "stages", v.stages);
  read(j, "variants", v.variants);
  read(j, "roles", v.roles);
}

static void to_json(Json& j, const MeasurePolicy& v) {
  j = Json::object();
  put(j, "samples", v.samples);
  put(j, "processes", v.processes);
  put(j, "min_rounds", v.min_rounds);
  put(j, "max_rounds", v.max_rounds);
  put(j, "epsilon", v.epsilon);
  put(j, "control", v.control);
  put(j, "cold", v.cold);
  put(j, "launch", v.launch);
  put(j, "timer", v.timer);
  put(j, "noise_gate", v.noise_gate);
  put(j, "verify_rows", v.verify_rows);
  put(j, "deadline_s", v.deadline_s);
  put(j, "visit_target_s", v.visit_target_s);
  put(j, "give_up_ratio", v.give_up_ratio);
  put(j, "refine", v.refine);
  put(j, "held_out", v.held_out);
}

static void from_json(const Json& j, MeasurePolicy& v) {
  fields::require_object(j);
  v = {};
  read(j, "samples", v.samples);
  read(j, "processes", v.processes);
  read(j, "min_rounds", v.min_rounds);
  read(j, "max_rounds", v.max_rounds);
  read(j, "epsilon", v.epsilon);
  read(j, "control", v.control);
  read(j, "cold", v.cold);
  read(j, "launch", v.launch);
  read(j, "timer", v.timer);
  read(j, "noise_gate", v.noise_gate);
  read(j, "verify_rows", v.verify_rows);
  read(j, "deadline_s", v.deadline_s);
  read(j, "visit_target_s", v.visit_target_s);
  read(j, "give_up_ratio", v.give_up_ratio);
  read(j, "refine", v.refine);
  read(j, "held_out", v.held_out);
}

void to_json(Json& j, const SweepSpec& v) {
  j = Json::object();
  put(j, "schema_version", v.schema_version);
  put(j, "name", v.name);
  put(j, "stages", v.stages);
  put(j, "variants", v.variants);
  put(j, "policy", v.policy);
  put(j, "budget_s", v.budget_s);
  put(j, "seed", v.seed);
  put(j, "families", v.families);
}

void from_json(const Json& j, SweepSpec& v) {
  v = {};
  require(j, "schema_version", v.schema_version);
  read(j, "name", v.name);
  read(j, "stages", v.stages);
  read(j, "variants", v.variants);
  read(j, "policy", v.policy);
  read(j, "budget_s", v.budget_s);
  read(j, "seed", v.seed);
  require(j, "families", v.families);
}

}  // namespace nsa
