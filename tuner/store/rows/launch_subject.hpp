// Rows about launches: what a launch belongs to, then what was seen of it.
#pragma once

#include <string>

#include "columns.hpp"
#include "nsa/schemas/launch_subject.hpp"
#include "problem_row.hpp"

namespace nsa::store {

template <class LaunchRow>
std::string insert_launch(const std::string& table) {
  const Columns& columns = columns_of<LaunchRow>();
  return "INSERT INTO " + table + " (" + columns.names + ") VALUES (" + columns.parameters +
         ") ON CONFLICT DO NOTHING";
}

/// Binds the row, and inserts the placement, problem and variant that it names.
template <class LaunchRow>
void bind_launch(SQLite::Database& db, SQLite::Statement& insert, const LaunchRow& r) {
  Binder binder(insert);
  bind_columns(binder, r, [&]<class Part>(const Part& part) {
    if constexpr (std::same_as<Part, Placement>) return put_placement(db, part);
    if constexpr (std::same_as<Part, Problem>) return put_problem(db, part);
    if constexpr (std::same_as<Part, VariantId>) return put_variant(db, part);
  });
}

template <class LaunchRow>
void get_launch(SQLite::Database& db, Row& row, const std::string& path, LaunchRow& r) {
  read_columns(row, r, [&]<class Part>(Row& from, Part& part) {
    const std::string id = from.text();
    if constexpr (std::same_as<Part, Placement>) part = get_placement(db, id, path);
    if constexpr (std::same_as<Part, Problem>) part = get_problem(db, id, path);
    if constexpr (std::same_as<Part, VariantId>) part = get_variant(db, id, path);
  });
}

}  // namespace nsa::store
