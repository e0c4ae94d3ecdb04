// Where output may go.
#pragma once

#include <string>

namespace nsa {

/// InputError where the file is an SQLite database: measurements are never written over.
void refuse_database(const std::string& path);

}  // namespace nsa
