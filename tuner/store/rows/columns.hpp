// The columns of a table, made from the list of fields of its struct (nsa/schemas/fields). A field
// is a column of its name; a struct within it has its columns among the others, after "<name>_"
// where it may be absent. Placements, problems and variants are rows of their own: "<name>_id"
// names them. Lists of structs are no columns.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/fields/description.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/variant.hpp"
#include "row.hpp"

namespace nsa::store {

using fields::each_field;
using fields::Field;
using fields::Kind;

template <class T>
concept RowOfItsOwn =
    std::same_as<T, Placement> || std::same_as<T, Problem> || std::same_as<T, VariantId>;
/// A column whose text the caller makes and reads.
template <class T>
concept TextOfItsOwn = std::same_as<T, std::vector<std::int64_t>>;
/// Rows of another table.
template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = fields::Described<T>;
template <class T>
inline constexpr bool kMayBeAbsent = false;
template <class T>
inline constexpr bool kMayBeAbsent<std::optional<T>> = fields::Described<T>;

/// "id, run_id, ..." and as many "?" as columns: the parts of an INSERT.
struct Columns {
  std::string names, parameters;
  void add(const std::string& name) {
    if (!names.empty()) names += ", ", parameters += ",";
    names += name;
    parameters += "?";
  }
};

template <class T>
void add_columns(Columns& columns, const std::string& prefix = {}) {
  T object;
  each_field(object, [&]<class M>(const auto& field, const M&) {
    if constexpr (RowOfItsOwn<M>) {
      columns.add(prefix + field.name + "_id");
    } else if constexpr (kIsList<M>) {
      return;
    } else if constexpr (kMayBeAbsent<M>) {
      add_columns<typename M::value_type>(columns, prefix + field.name + "_");
    } else if constexpr (fields::Described<M>) {
      add_columns<M>(columns, prefix);
    } else {
      columns.add(prefix + field.name);
    }
  });
}

template <class T>
const Columns& columns_of() {
  static const Columns columns = [] {
    Columns made;
    add_columns<T>(made);
    return made;
  }();
  return columns;
}

/// An error that is no number is as wrong as can be.
inline std::optional<double> storable(const std::optional<double>& error) {
  if (error && std::isnan(*error)) return std::numeric_limits<double>::infinity();
  return error;
}

/// Of structs without placements, problems and variants.
inline constexpr auto kNoRows = [](auto&...) {};

/// Adds the columns of `object`; text_of(part) gives the id of a row of its own, or a text.
template <class T, class TextOf>
void bind_columns(Binder& binder, const T& object, const TextOf& text_of) {
  each_field(object, [&]<Kind kKind, class S, class M>(const Field<kKind, S, M>&, const M& part) {
    if constexpr (RowOfItsOwn<M> || TextOfItsOwn<M>) {
      binder.add(text_of(part));
    } else if constexpr (kIsList<M>) {
      return;
    } else if constexpr (kMayBeAbsent<M>) {
      using Part = typename M::value_type;
      const Part absent{};
      each_field(part ? *part : absent, [&](const auto&, const auto& value) {
        binder.add(part ? std::optional(value) : std::nullopt);
      });
    } else if constexpr (fields::Described<M>) {
      bind_columns(binder, part, text_of);
    } else if constexpr (std::is_enum_v<M>) {
      binder.add(to_string(part));
    } else if constexpr (kKind == Kind::error) {
      binder.add(storable(part));
    } else {
      binder.add(part);
    }
  });
}

/// Reads the columns of `object`; fetch(column, part) fills in a row or a text of its own.
template <class T, class Fetch>
void read_columns(Row& row, T& object, const Fetch& fetch) {
  each_field(object, [&]<class M>(const auto&, M& part) {
    if constexpr (RowOfItsOwn<M> || TextOfItsOwn<M>) {
      fetch(row, part);
    } else if constexpr (kIsList<M>) {
      return;
    } else if constexpr (kMayBeAbsent<M>) {
      part.emplace();
      bool whole = true;
      each_field(*part, [&]<class V>(const auto&, V& value) {
        std::optional<V> read;
        row.get(read);
        whole = whole && read;
        if (read) value = *read;
      });
      if (!whole) part.reset();
    } else if constexpr (fields::Described<M>) {
      read_columns(row, part, fetch);
    } else {
      row.get(part);
    }
  });
}

}  // namespace nsa::store
