// From a path to a connection whose schema is current.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "connection.hpp"

namespace nsa::store {

struct Opened {
  std::unique_ptr<Connection> connection;
  std::vector<std::string> notes;
};

/// For reading and writing; creates, converts and migrates as needed. Errors as in Store::open.
Opened open_for_writing(const std::string& path, const OpenOptions& options);
/// For reading what exists. Errors as in Store::open_existing.
Opened open_for_reading(const std::string& path, const OpenOptions& options);
/// For reading what exists, of whatever version, without a change to any of its files. InputError
/// as in Store::open_existing; SQLite::Exception when it is locked or cannot be read.
std::unique_ptr<Connection> open_unchanged(const std::string& path, const OpenOptions& options);
/// Whether there is a file that may be a database; InputError when it can be none.
bool is_there(const std::string& path);

}  // namespace nsa::store
