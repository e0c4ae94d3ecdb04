// Problems, variants and placements: rows that are keyed by their content and written once.
#pragma once

#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/variant.hpp"

namespace nsa::store {

/// The ids under which they are stored, the same on every machine.
std::string problem_id(const Problem& problem);
std::string variant_id(const VariantId& variant);
std::string placement_id(const Placement& placement);
/// Stages joined with '+', as in the column.
std::string joined_stages(const std::vector<std::string>& stages);

/// Inserts unless it is there; returns the id. Within the caller's transaction.
std::string put_problem(SQLite::Database& db, const Problem& problem);
std::string put_variant(SQLite::Database& db, const VariantId& variant);
std::string put_placement(SQLite::Database& db, const Placement& placement);

/// InputError with `path` when the row is missing or is no valid problem, variant or placement.
Problem get_problem(SQLite::Database& db, const std::string& id, const std::string& path);
VariantId get_variant(SQLite::Database& db, const std::string& id, const std::string& path);
Placement get_placement(SQLite::Database& db, const std::string& id, const std::string& path);

}  // namespace nsa::store
