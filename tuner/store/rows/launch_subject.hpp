// What a launch belongs to: the first columns of each table about launches.
#pragma once

#include "nsa/schemas/launch_subject.hpp"
#include "row.hpp"

namespace nsa::store {

/// Reads id, run_id, executor, placement_id, problem_id, variant_id, source_hash and launch.
void get_subject(SQLite::Database& db, Row& row, const std::string& path, LaunchSubject& subject);

}  // namespace nsa::store
