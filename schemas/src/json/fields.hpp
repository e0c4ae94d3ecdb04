// Fields of JSON objects, both ways. Reading trusts nothing: a field that is
// missing, of another type or out of range is an InputError whose text starts
// with the JSON pointer.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::fields {

/// User text for a message: in quotes, one line of ASCII, cut to about 60
/// characters.
std::string shown(const std::string& text);
/// A value for a message, likewise; the kind and size of what is too long.
std::string shown_value(const Json& value);
/// A key as a part of a JSON pointer (RFC 6901), on one line.
std::string pointer_token(const std::string& key);

/// "<pointer>: <what>"; the pointer grows at the front while the error leaves
/// nested objects.
class FieldError : public InputError {
 public:
  FieldError(std::string pointer, std::string what)
      : InputError(pointer + ": " + what), pointer_(std::move(pointer)), what_(std::move(what)) {}
  FieldError below(const std::string& key) const {
    return {"/" + pointer_token(key) + pointer_, what_};
  }

 private:
  std::string pointer_, what_;
};

/// Valid UTF-8 of `text`; invalid bytes become U+FFFD, so that no document is
/// impossible to print.
Json printable(const std::string& text);
/// A number that JSON has; infinities and NaN are a defect of the caller.
double finite(double value);

inline Json value_of(bool value) { return value; }
inline Json value_of(double value) { return finite(value); }
inline Json value_of(const std::string& value) { return printable(value); }
inline Json value_of(const Json& value) { return value; }
template <std::integral T>
Json value_of(T value) {
  return value;
}
template <class T>
requires std::is_enum_v<T> Json value_of(T value) { return std::string(to_string(value)); }
template <class T>
requires std::is_class_v<T> Json value_of(const T& value) {
  Json j;
  to_json(j, value);
  return j;
}
template <class T>
Json value_of(const std::vector<T>& values) {
  Json j = Json::array();
  for (const auto& value : values) j.push_back(value_of(value));
  return j;
}

template <class T>
void put(Json& j, const char* key, const T& value) {
  j[key] = value_of(value);
}
/// Left out when absent. A reading that is no number was not taken.
template <class T>
void put(Json& j, const char* key, const std::optional<T>& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value && !std::isfinite(*value)) return;
  }
  if (value) j[key] = value_of(*value);
}
/// An error that may be infinite or NaN, which JSON has not: those become the
/// largest number, because "not compared" would be the wrong thing to say of a
/// result that is all wrong.
void put_error(Json& j, const char* key, const std::optional<double>& error);
/// null when absent.
template <class T>
void put_or_null(Json& j, const char* key, const std::optional<T>& value) {
  j[key] = value ? value_of(*value) : Json(nullptr);
}
/// Left out when empty.
inline void put_text(Json& j, const char* key, const std::string& value) {
  if (!value.empty()) j[key] = printable(value);
}

void get(const Json& j, bool& out);
void get(const Json& j, double& out);
void get(const Json& j, std::string& out);
void get(const Json& j, std::int64_t& out);
void get(const Json& j, std::uint64_t& out);
void get(const Json& j, int& out);
template <class T>
requires std::is_enum_v<T>
void get(const Json& j, T& out) {
  std::string name;
  get(j, name);
  const auto value = from_string<T>(name);
  if (!value) throw FieldError("", shown(name) + " is not one of the known names");
  out = *value;
}
template <class T>
requires std::is_class_v<T>
void get(const Json& j, T& out) { from_json(j, out); }
template <class T>
void get(const Json& j, std::vector<T>& out) {
  if (!j.is_array()) throw FieldError("", "is not an array");
  out.clear();
  for (std::size_t i = 0; i < j.size(); ++i) {
    T value{};
    try {
      get(j[i], value);
    } catch (const FieldError& error) {
      throw error.below(std::to_string(i));
    }
    out.push_back(std::move(value));
  }
}

/// Throws unless `j` is an object.
void require_object(const Json& j);

/// Reads a field into `out`; false, and `out` untouched, when it is absent.
template <class T>
bool read(const Json& j, const char* key, T& out) {
  const auto at = j.find(key);
  if (at == j.end()) return false;
  try {
    get(*at, out);
  } catch (const FieldError& error) {
    throw error.below(key);
  }
  return true;
}
/// null counts as absent.
template <class T>
bool read(const Json& j, const char* key, std::optional<T>& out) {
  out.reset();
  const auto at = j.find(key);
  if (at == j.end() || at->is_null()) return false;
  return read(j, key, out.emplace());
}
template <class T>
void require(const Json& j, const char* key, T& out) {
  require_object(j);
  if (!read(j, key, out)) throw FieldError("", "the field '" + std::string(key) + "' is missing");
}

}  // namespace nsa::fields

namespace nsa {

// Parts that several documents share and that have no type of their own to be
// found by.
void to_json(Json& j, const Point& v);
void from_json(const Json& j, Point& v);
void to_json(Json& j, const Cost& v);
void from_json(const Json& j, Cost& v);

}  // namespace nsa
