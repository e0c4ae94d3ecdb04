// Is the file whole?
#pragma once

#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

namespace nsa::store {

/// What is wrong with the database behind `db`, one line each, which name rows of `path`: pages,
/// references, and each row that the other functions would refuse.
std::vector<std::string> problems_of(SQLite::Database& db, const std::string& path);

}  // namespace nsa::store
