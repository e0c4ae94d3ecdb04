// The union of two databases of the current version, as SQL between a connection and a file that is
// attached to it.
#pragma once

#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "nsa/store/merge.hpp"

namespace nsa::store {

RowCounts row_counts(SQLite::Database& db);

/// Adds the rows of the database in the file `from` to `db` and keeps the series of runs that have
/// ended, all in one transaction. InputError that
/// begins with `name` when the two contradict each other.
void add_rows_of(SQLite::Database& db, const std::string& from, const std::string& name);

/// Names of the tables that are added, for the test that none is forgotten.
std::vector<std::string> united_tables();

}  // namespace nsa::store
