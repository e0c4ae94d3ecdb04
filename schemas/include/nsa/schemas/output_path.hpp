// Where output may go.
#pragma once

#include <string>

namespace nsa {

/// InputError where the file is an SQLite database: measurements are never written over.
void refuse_database(const std::string& path);

/// The first bytes, their final zero included (SQLite, "Database File Format").
inline constexpr char kSqliteHead[] = "SQLite format 3";

}  // namespace nsa
