// What a struct consists of, told once: a list of its fields with their names. JSON in both
// directions, the columns of the database and the test of the data dictionary are made from it.
//
//   template <>
//   inline constexpr auto kFields<Sample> = std::tuple{required("start_ns", &Sample::start_ns),
//                                                      optional("cycles", &Sample::cycles)};
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

/// The fields of T in the order of its documents; empty for a type that is no described struct.
template <class T>
inline constexpr auto kFields = std::tuple<>{};

template <class T>
concept Described = std::tuple_size_v<std::remove_cvref_t<decltype(kFields<T>)>>
!= 0;

/// Calls visit(field, value) for each field of `object`, those of inlined structs too.
template <class T, class Visit>
void each_field(T& object, Visit&& visit) {
  const auto one = [&]<class F>(const F& field) {
    if constexpr (requires { field.name; }) {
      visit(field, object.*field.member);
    } else {
      each_field(object.*field.member, visit);
    }
  };
  std::apply([&](const auto&... field) { (one(field), ...); }, kFields<std::remove_const_t<T>>);
}

}  // namespace nsa::fields
