// What a struct consists of, told once: a list of its fields with their names. JSON in both
// directions, the columns of the database and the test of the data dictionary are made from it.
//
//   template <>
//   inline constexpr auto kFields<Sample> = std::tuple{required("start_ns", &Sample::start_ns),
//                                                      optional("cycles", &Sample::cycles)};
//
// All of it is constant: threads may share it.
#pragma once

#include <tuple>
#include <type_traits>

namespace nsa::fields {

/// Whether a document must have a field, and what is written when there is nothing to say.
enum class Kind {
  required,        // refused when it is missing
  optional,        // left out when it is an absent std::optional, else always written
  unless_default,  // left out when it is as in a new object: "", 0, empty
  or_null,         // null when it is an absent std::optional
  error,           // an std::optional<double> that may be infinite or NaN, which JSON does not have
};

template <Kind kKind, class Struct, class Member>
struct Field {
  const char* name;
  Member Struct::*member;
  static constexpr Kind kind = kKind;
};

/// A struct whose fields stand among those of the struct that holds it.
template <class Struct, class Part>
struct Inlined {
  Part Struct::*member;
};

/// What a function tells of a struct, as a field of its documents: written, and left out when one
/// is read.
template <Kind kKind, class Struct, class Value>
struct Told {
  const char* name;
  Value (*tell)(const Struct&);
  static constexpr Kind kind = kKind;
};

/// Likewise with a struct that the function makes, whose fields stand among the others.
template <class Struct, class Part>
struct InlinedTold {
  Part (*tell)(const Struct&);
};

/// A field of that name, of Kind::required.
template <class S, class M>
constexpr Field<Kind::required, S, M> required(const char* name, M S::*member) {
  return {name, member};
}
/// A field of that name, of Kind::optional.
template <class S, class M>
constexpr Field<Kind::optional, S, M> optional(const char* name, M S::*member) {
  return {name, member};
}
/// A field of that name, of Kind::unless_default.
template <class S, class M>
constexpr Field<Kind::unless_default, S, M> unless_default(const char* name, M S::*member) {
  return {name, member};
}
/// A field of that name, of Kind::or_null.
template <class S, class M>
constexpr Field<Kind::or_null, S, M> or_null(const char* name, M S::*member) {
  return {name, member};
}
/// A field of that name, of Kind::error.
template <class S, class M>
constexpr Field<Kind::error, S, M> error(const char* name, M S::*member) {
  return {name, member};
}
/// The fields of that member, among those of S.
template <class S, class P>
constexpr Inlined<S, P> inlined(P S::*member) {
  return {member};
}
/// A field of that name that a function tells, of Kind::required.
template <class S, class V>
constexpr Told<Kind::required, S, V> required(const char* name, V (*tell)(const S&)) {
  return {name, tell};
}
/// Likewise of Kind::optional.
template <class S, class V>
constexpr Told<Kind::optional, S, V> optional(const char* name, V (*tell)(const S&)) {
  return {name, tell};
}
/// Likewise of Kind::or_null.
template <class S, class V>
constexpr Told<Kind::or_null, S, V> or_null(const char* name, V (*tell)(const S&)) {
  return {name, tell};
}
/// The fields of the struct that a function makes, among those of S.
template <class S, class P>
constexpr InlinedTold<S, P> inlined(P (*tell)(const S&)) {
  return {tell};
}

/// The fields of T in the order of its documents; empty for a type that is no described struct.
template <class T>
inline constexpr auto kFields = std::tuple<>{};

template <class T>
concept Described = std::tuple_size_v<std::remove_cvref_t<decltype(kFields<T>)>>
!= 0;

/// Calls visit(field, value) for each field of `object`, those of inlined structs too; for what
/// functions tell only where the object is const.
template <class T, class Visit>
void each_field(T& object, Visit&& visit) {
  const auto of_value = [&]<class F>(const F& field, auto& value) {
    if constexpr (requires { field.name; }) {
      visit(field, value);
    } else {
      each_field(value, visit);
    }
  };
  const auto one = [&]<class F>(const F& field) {
    if constexpr (requires { field.member; }) {
      of_value(field, object.*field.member);
    } else if constexpr (std::is_const_v<T>) {
      const auto value = field.tell(object);
      of_value(field, value);
    }
  };
  std::apply([&](const auto&... field) { (one(field), ...); }, kFields<std::remove_const_t<T>>);
}

}  // namespace nsa::fields
