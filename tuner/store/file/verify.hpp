// Is the file whole?
#pragma once

#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

namespace nsa::store {

/// What is wrong with the database behind `db`, one line each, which name rows of `path`: pages,
/// references, and each row that the other functions would refuse.
std::vector<std::string> problems_of(SQLite::Database& db, const std::string& path);

/// Whether a journal waits to be played back; then the file alone is not the whole truth.
bool has_journal(const std::string& path);
/// InputError where the file ends within a page and no journal will mend it: SQLite would read the
/// rest of the page as zeros, and rows with it.
void refuse_cut(const std::string& path);

}  // namespace nsa::store
