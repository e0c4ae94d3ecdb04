// A database as it is at one instant, in a file of ours.
#pragma once

#include <string>

#include "nsa/store/store.hpp"

namespace nsa::store {

/// Copies the database `path` to the new file `copy`, brings the copy to the current version and
/// checks all of it; `path` stays as it is. InputError that begins with `path` when it is missing,
/// locked, damaged, of another program or of a newer version.
void take_snapshot(const std::string& path, const std::string& copy, const OpenOptions& options);

}  // namespace nsa::store
