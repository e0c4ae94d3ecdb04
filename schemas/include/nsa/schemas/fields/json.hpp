// Fields of JSON objects, both ways, by the descriptions of structs (description.hpp). Reading
// trusts nothing: a field that is missing, of another type or out of range is an InputError whose
// text starts with the JSON pointer. Functions share nothing: threads may call them at the same
// time.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/fields/description.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::fields {

/// User text for a message: in quotes, one line of ASCII, cut to about 60 characters.
std::string shown(const std::string& text);
/// A value for a message, likewise; the kind and size of what is too long.
std::string shown_value(const Json& value);
/// A key as a part of a JSON pointer (RFC 6901), on one line.
std::string pointer_token(const std::string& key);

/// "<pointer>: <what>"; the pointer grows at the front while the error leaves nested objects.
class FieldError : public InputError {
 public:
  FieldError(std::string pointer, std::string what)
      : InputError(pointer + ": " + what), pointer_(std::move(pointer)), what_(std::move(what)) {}
  /// The same error of the object that holds this value under `key`.
  FieldError below(const std::string& key) const {
    return {"/" + pointer_token(key) + pointer_, what_};
  }

 private:
  std::string pointer_, what_;
};

/// Valid UTF-8 of `text`; invalid bytes become U+FFFD, so that no document is impossible to print.
Json printable(const std::string& text);
/// A number that JSON has; infinities and NaN are a defect of the caller (ContractError).
double finite(double value);

/// The JSON of a value: of a scalar, of an enumerator its name.
inline Json value_of(bool value) { return value; }
inline Json value_of(double value) { return finite(value); }
inline Json value_of(const std::string& value) { return printable(value); }
inline Json value_of(const Json& value) { return value; }
/// Likewise.
template <std::integral T>
Json value_of(T value) {
  return value;
}
/// Likewise.
template <class T>
requires std::is_enum_v<T> Json value_of(T value) { return std::string(to_string(value)); }
/// Values of the axes of a sweep by name: numbers where their texts are numbers.
using Axes = std::vector<std::pair<std::string, std::vector<std::string>>>;
/// An object with an array for each axis.
Json value_of(const Axes& axes);
/// An object of whole numbers.
Json value_of(const Point& point);
/// An object with a key for each entry.
template <class T>
Json value_of(const std::map<std::string, T>& values) {
  Json j = Json::object();
  for (const auto& [name, value] : values) j[name] = value_of(value);
  return j;
}
/// A described struct as an object.
template <class T>
Json object_of(const T& value);
/// As to_json() of the type says, else field by field.
template <class T>
requires std::is_class_v<T> Json value_of(const T& value) {
  if constexpr (requires(Json & j) { to_json(j, value); }) {
    Json j;
    to_json(j, value);
    return j;
  } else {
    return object_of(value);
  }
}
/// An array.
template <class T>
Json value_of(const std::vector<T>& values) {
  Json j = Json::array();
  for (const auto& value : values) j.push_back(value_of(value));
  return j;
}

/// Sets a field.
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
/// An error that may be infinite or NaN, which JSON has not: those become the largest number,
/// because "not compared" would be the wrong thing to say of a result that is all wrong.
void put_error(Json& j, const char* key, const std::optional<double>& error);
/// null when absent, and for a reading that is no number.
template <class T>
void put_or_null(Json& j, const char* key, const std::optional<T>& value) {
  bool there = value.has_value();
  if constexpr (std::is_floating_point_v<T>) there = there && std::isfinite(*value);
  j[key] = there ? value_of(*value) : Json(nullptr);
}

/// What a new object holds there.
template <Kind kKind, class S, class M>
M default_of(const Field<kKind, S, M>& field) {
  return S{}.*field.member;
}
template <class T>
Json object_of(const T& value) {
  static_assert(Described<T> || std::is_empty_v<T>, "kFields<T> is not included");
  Json j = Json::object();
  each_field(value, [&]<class F>(const F& field, const auto& part) {
    if constexpr (F::kind == Kind::or_null) {
      put_or_null(j, field.name, part);
    } else if constexpr (F::kind == Kind::error) {
      put_error(j, field.name, part);
    } else if constexpr (F::kind == Kind::unless_default) {
      if (!(part == default_of(field))) put(j, field.name, part);
    } else {
      put(j, field.name, part);
    }
  });
  return j;
}

/// Reads a scalar that `out` can hold exactly, an enumerator by its name.
void get(const Json& j, bool& out);
void get(const Json& j, double& out);
void get(const Json& j, std::string& out);
void get(const Json& j, std::int64_t& out);
void get(const Json& j, std::uint64_t& out);
void get(const Json& j, std::uint32_t& out);
void get(const Json& j, int& out);
/// Likewise.
template <class T>
requires std::is_enum_v<T>
void get(const Json& j, T& out) {
  std::string name;
  get(j, name);
  const auto value = from_string<T>(name);
  if (!value) throw FieldError("", shown(name) + " is not one of the known names");
  out = *value;
}
/// What value_of() writes for it.
void get(const Json& j, Axes& out);
void get(const Json& j, Point& out);
/// A described struct: what is left out is as in a new one.
template <class T>
void read_object(const Json& j, T& out);
/// As from_json() of the type says, else field by field.
template <class T>
requires std::is_class_v<T>
void get(const Json& j, T& out) {
  if constexpr (requires { from_json(j, out); }) {
    from_json(j, out);
  } else {
    read_object(j, out);
  }
}
/// An array; each element is read as a new T.
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
/// An object with a key for each entry.
template <class T>
void get(const Json& j, std::map<std::string, T>& out) {
  require_object(j);
  out.clear();
  for (const auto& [name, value] : j.items()) {
    try {
      get(value, out[name]);
    } catch (const FieldError& error) {
      throw error.below(name);
    }
  }
}

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
/// The same of a field that must be there.
template <class T>
void require(const Json& j, const char* key, T& out) {
  require_object(j);
  if (!read(j, key, out)) throw FieldError("", "the field '" + std::string(key) + "' is missing");
}

template <class T>
void read_object(const Json& j, T& out) {
  static_assert(Described<T> || std::is_empty_v<T>, "kFields<T> is not included");
  require_object(j);
  out = {};
  each_field(out, [&]<Kind kKind, class S, class M>(const Field<kKind, S, M>& field, auto& part) {
    if constexpr (kKind == Kind::required) {
      require(j, field.name, part);
    } else {
      read(j, field.name, part);
    }
  });
}

}  // namespace nsa::fields
