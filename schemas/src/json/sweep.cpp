// JSON of a sweep spec. A user writes only what differs from the defaults.
#include <charconv>

#include "nsa/schemas/fields/json.hpp"
#include "nsa/schemas/fields/sweep.hpp"

namespace nsa::fields {
namespace {

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
  return printable(text);
}

std::string axis_value_text(const Json& j) {
  if (j.is_string()) return j.get_ref<const std::string&>();
  if (j.is_number()) return j.dump();
  throw FieldError("", "is neither a number nor a string");
}

void read_axis(const Json& j, std::vector<std::string>& values) {
  if (!j.is_array()) throw FieldError("", "is not an array");
  for (std::size_t i = 0; i < j.size(); ++i) {
    try {
      values.push_back(axis_value_text(j[i]));
    } catch (const FieldError& error) {
      throw error.below(std::to_string(i));
    }
  }
}

}  // namespace

Json value_of(const Axes& axes) {
  Json j = Json::object();
  for (const auto& [name, values] : axes) {
    Json list = Json::array();
    for (const auto& value : values) list.push_back(axis_value_json(value));
    j[name] = std::move(list);
  }
  return j;
}

void get(const Json& j, Axes& out) {
  require_object(j);
  for (const auto& [name, values] : j.items()) {
    try {
      read_axis(values, out.emplace_back(name, std::vector<std::string>{}).second);
    } catch (const FieldError& error) {
      throw error.below(name);
    }
  }
}

}  // namespace nsa::fields

namespace nsa {

void to_json(Json& j, const SweepSpec& v) { j = fields::object_of(v); }
void from_json(const Json& j, SweepSpec& v) { fields::read_object(j, v); }

}  // namespace nsa
