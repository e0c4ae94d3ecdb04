// Where output may go.
#pragma once

#include <string>

namespace nsa {

/// InputError where the file is an SQLite database: measurements are never written over.
void refuse_database(const std::string& path);

/// In a folder where everybody may write, a link that is neither ours nor the folder's owner's
/// leads where another user wants it: InputError. The rule is the kernel's (protected_symlinks),
/// for its own opens.
void refuse_planted_link(const std::string& path);

/// The first bytes, their final zero included (SQLite, "Database File Format").
inline constexpr char kSqliteHead[] = "SQLite format 3";

}  // namespace nsa
