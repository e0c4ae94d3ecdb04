// The schema of the database, step by step: forward only, each step one file of schemas/sql.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace SQLite {
class Database;
}

namespace nsa::store {

struct Migration {
  int version;           // of the schema after it
  std::string_view sql;  // statements, without a transaction of their own
};

/// All steps, ascending; the last one is the version that this build reads and writes.
std::span<const Migration> migrations() noexcept;
int newest_version() noexcept;

/// Marks a SQLite file as ours (PRAGMA application_id): "nsat".
inline constexpr std::int64_t kApplicationId = 0x6e736174;

enum class SchemaState { empty, older, current };

/// What the file holds. InputError when it belongs to another program, comes from a newer version
/// or its tables are not those that the migrations make.
SchemaState schema_state(SQLite::Database& db, const std::string& path);

/// Runs the steps that are missing in one immediate transaction; on any error nothing has changed.
void migrate(SQLite::Database& db, const std::string& path, std::span<const Migration> steps);

}  // namespace nsa::store
