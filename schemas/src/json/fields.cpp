// Scalars of JSON fields: what is accepted is exactly what the C++ type can
// hold.
#include "nsa/schemas/fields/json.hpp"

#include <algorithm>

namespace nsa::fields {

std::string shown(const std::string& text) {
  constexpr std::size_t kShown = 60;
  const bool long_text = text.size() > kShown;
  std::string line =
      Json(text.substr(0, kShown)).dump(-1, ' ', true, Json::error_handler_t::replace);
  if (long_text) line.insert(line.size() - 1, "...");
  return line;
}

std::string shown_value(const Json& value) {
  if (value.is_string()) return shown(value.get_ref<const std::string&>());
  if (value.is_array()) return "an array of " + std::to_string(value.size());
  if (value.is_object()) return "an object of " + std::to_string(value.size());
  return value.dump();
}

std::string pointer_token(const std::string& key) {
  std::string token;
  for (const char c : key) {
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c < ' ' || c > '~' ? '?' : c;
  }
  return token;
}

Json printable(const std::string& text) {
  Json value(text);
  try {
    (void)value.dump();
    return value;
  } catch (const nlohmann::json::exception&) {
    return Json::parse(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

double finite(double value) {
  expects(std::isfinite(value), "a finite number where JSON needs one");
  return value;
}

void put_error(Json& j, const char* key, const std::optional<double>& error) {
  if (!error) return;
  constexpr double kWorst = std::numeric_limits<double>::max();
  j[key] = std::isnan(*error) ? kWorst : std::min(*error, kWorst);
}

void require_object(const Json& j) {
  if (!j.is_object()) throw FieldError("", "is not an object");
}

void get(const Json& j, bool& out) {
  if (!j.is_boolean()) throw FieldError("", "is not true or false");
  out = j.get<bool>();
}

void get(const Json& j, double& out) {
  if (!j.is_number()) throw FieldError("", "is not a number");
  out = j.get<double>();
}

void get(const Json& j, std::string& out) {
  if (!j.is_string()) throw FieldError("", "is not a string");
  out = j.get_ref<const std::string&>();
}

void get(const Json& j, std::int64_t& out) {
  if (!j.is_number_integer()) throw FieldError("", "is not an integer");
  if (j.is_number_unsigned() &&
      j.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw FieldError("", "does not fit 64 bits");
  out = j.get<std::int64_t>();
}

void get(const Json& j, std::uint64_t& out) {
  if (!j.is_number_integer()) throw FieldError("", "is not an integer");
  if (!j.is_number_unsigned() && j.get<std::int64_t>() < 0) throw FieldError("", "is negative");
  out = j.get<std::uint64_t>();
}

void get(const Json& j, std::uint32_t& out) {
  std::uint64_t value = 0;
  get(j, value);
  if (value > std::numeric_limits<std::uint32_t>::max())
    throw FieldError("", "does not fit 32 bits");
  out = static_cast<std::uint32_t>(value);
}

void get(const Json& j, int& out) {
  std::int64_t value = 0;
  get(j, value);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    throw FieldError("", "does not fit 32 bits");
  out = static_cast<int>(value);
}

}  // namespace nsa::fields
