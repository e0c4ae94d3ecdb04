// One connection to SQLite with the settings that every use of the database shares.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "nsa/store/store.hpp"

namespace nsa::store {

enum class Access { read_only, read_write, create, immutable };

class Connection {
 public:
  /// Throws SQLite::Exception. Touches nothing but the file itself and what its journal needs.
  Connection(const std::string& path, Access access, const OpenOptions& options);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  SQLite::Database& db() noexcept { return db_; }
  /// "wal", "delete", ...
  std::string journal_mode();
  /// Durability for the journal mode that the file has.
  void set_synchronous();
  /// A WAL that the last writer left behind stays beside the file and is not put into it at the
  /// end.
  void leave_journal();
  /// Whether SQLite could only open it for reading although it was asked for more.
  bool read_only();

 private:
  /// Called by SQLite while somebody else holds a lock; 0 gives up.
  static int wait(void* self, int count);

  double timeout_s_;
  std::function<bool(double)> keep_waiting_;
  std::chrono::steady_clock::time_point began_waiting_;
  SQLite::Database db_;
};

}  // namespace nsa::store
