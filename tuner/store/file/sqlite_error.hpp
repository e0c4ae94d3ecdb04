// SQLite's error codes in terms of who has to act. The one place that translates them.
#pragma once

#include <string>
#include <utility>

#include <SQLiteCpp/Exception.h>

namespace nsa::store {

/// What was being done: a statement of ours that fails while a file is opened or migrated met a
/// file that is not what its header says; later it is our defect.
enum class Doing { opening, work };

/// Throws EnvironmentError (locked, full, read-only), InputError (no database, malformed) or
/// ContractError, each one line with path, what happened, SQLite's code and what to do.
[[noreturn]] void raise(const std::string& path, const SQLite::Exception& error, Doing doing);

/// Somebody else is busy with the file; the same call may succeed a little later.
bool is_transient(const SQLite::Exception& error) noexcept;
bool is_disk_full(const SQLite::Exception& error) noexcept;
/// The file system offers no shared memory maps, which WAL needs.
bool is_shared_memory_failure(const SQLite::Exception& error) noexcept;
/// The journal or its index could not be made beside the file (a folder that cannot be written).
bool is_journal_refused(const SQLite::Exception& error) noexcept;

/// Calls `body` and translates what SQLite throws.
template <class Body>
auto guarded(const std::string& path, Body&& body, Doing doing = Doing::work)
    -> decltype(std::forward<Body>(body)()) {
  try {
    return std::forward<Body>(body)();
  } catch (const SQLite::Exception& error) {
    raise(path, error, doing);
  }
}

}  // namespace nsa::store
