// How a file of SQLite begins.
#pragma once

namespace nsa {

/// The first bytes, their final zero included (SQLite, "Database File Format").
inline constexpr char kSqliteHead[] = "SQLite format 3";

}  // namespace nsa
