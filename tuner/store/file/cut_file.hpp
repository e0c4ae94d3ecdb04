// A database file that lost its end.
#pragma once

#include <string>

namespace nsa::store {

/// Whether a journal waits to be played back; then the file alone is not the whole truth.
bool has_journal(const std::string& path);
/// InputError where the file ends within a page and no journal will mend it: SQLite would read the
/// rest of the page as zeros, and rows with it.
void refuse_cut(const std::string& path);

}  // namespace nsa::store
