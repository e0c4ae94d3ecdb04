// Cold start is where shared SQLite files break: the switch to WAL is not covered by the busy
// handler, so that processes which create one file at once get "database is locked". Here the file
// is created, converted and migrated under a lock of our own; whoever finds it ready takes no lock,
// and whoever meets it half-way tries again until the deadline.
#include "opening.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

#include "file_lock.hpp"
#include "migrate.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/output_path.hpp"
#include "sqlite_error.hpp"
#include "verify.hpp"

namespace nsa::store {
namespace {

using Clock = std::chrono::steady_clock;

/// The fallback for a file system without shared memory maps. An exclusive connection keeps the WAL
/// index in its own memory, so it can read the file and take it out of WAL mode.
void leave_wal(const std::string& path, const OpenOptions& options) {
  Connection connection(path, Access::create, options);
  connection.db().exec("PRAGMA locking_mode = EXCLUSIVE");
  if (connection.db().execAndGet("PRAGMA journal_mode = DELETE").getString() != "delete") {
    throw EnvironmentError(path +
                           ": its file system has no shared memory maps, and the journal "
                           "mode could not be changed; use --db FILE on a local disk");
  }
}

/// Puts a new file into WAL mode if it can then be read; otherwise it keeps its DELETE journal.
void try_wal(const std::string& path, const OpenOptions& options) {
  try {
    Connection connection(path, Access::create, options);
    connection.db().execAndGet("PRAGMA journal_mode = WAL");
    connection.db().execAndGet("SELECT count(*) FROM sqlite_schema");
  } catch (const SQLite::Exception& error) {
    if (!is_shared_memory_failure(error)) throw;
    leave_wal(path, options);
  }
}

struct Look {
  SchemaState state = SchemaState::empty;
  std::unique_ptr<Connection> connection;  // only when the state is current
};

/// A connection that can be used as it is, or what is missing.
Look try_ready(const std::string& path, Access access, const OpenOptions& options) {
  auto connection = std::make_unique<Connection>(path, access, options);
  const SchemaState state = schema_state(connection->db(), path);
  if (state != SchemaState::current) return {state, nullptr};
  connection->set_synchronous();
  return {state, std::move(connection)};
}

/// Creates, converts and migrates while holding the lock of the opening.
void prepare(const std::string& path, const OpenOptions& options, double wait_s) {
  const auto lock = FileLock::acquire(path, kOpeningByte, wait_s, options.keep_waiting);
  if (!lock) {
    throw EnvironmentError(path +
                           ": another process has been creating or converting it for too "
                           "long; wait for it or end it, then try again");
  }
  SchemaState state{};
  try {
    Connection connection(path, Access::create, options);
    state = schema_state(connection.db(), path);
  } catch (const SQLite::Exception& error) {
    if (!is_shared_memory_failure(error)) throw;
    leave_wal(path, options);  // a WAL database that was copied here
    Connection connection(path, Access::create, options);
    state = schema_state(connection.db(), path);
  }
  if (state == SchemaState::empty) try_wal(path, options);
  if (state != SchemaState::current) {
    Connection connection(path, Access::create, options);
    connection.set_synchronous();
    migrate(connection.db(), path, migrations());
  }
}

double seconds_until(Clock::time_point deadline) {
  return std::max(0.0, std::chrono::duration<double>(deadline - Clock::now()).count());
}

Opened accept(std::unique_ptr<Connection> connection, const std::string& path) {
  if (connection->read_only()) {
    throw EnvironmentError(path + ": is read-only; make it writable, or use --db FILE");
  }
  Opened opened{std::move(connection), {}};
  const std::string mode = opened.connection->journal_mode();
  if (mode != "wal") {
    opened.notes.push_back(
        fmt::format("{}: uses a {} journal instead of WAL, as where its file "
                    "system has no shared memory maps: slower with many "
                    "writers, otherwise the same",
                    path, mode));
  }
  return opened;
}

}  // namespace

/// Refuses, before anything is opened or created, what cannot be a database. False: nothing there.
bool is_there(const std::string& path) {
  if (path.empty()) throw InputError("--db: the file name is empty; name a file");
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      const auto folder = std::filesystem::path(path).parent_path();
      std::error_code ignored;
      if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
        throw InputError(
            fmt::format("{}: the folder {} does not exist; create it or name another "
                        "file with --db",
                        path, folder.string()));
      }
      struct stat link {};
      // SQLite would create what it names: a file wherever somebody else wants one.
      if (lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode))
        throw InputError(path +
                         ": is a symbolic link to a file that does not exist; remove it, or name "
                         "another file");
      return false;
    }
    if (is_wrong_name(errno))
      throw InputError(fmt::format("{}: {}; name another file", path, std::strerror(errno)));
    throw EnvironmentError(
        fmt::format("{}: {}; make its folder readable", path, std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw InputError(path + ": is not a regular file; name another file");
  }
  if (status.st_size == 0) return true;  // a database that nobody has written to yet
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw EnvironmentError(fmt::format("{}: {}; make it readable", path, std::strerror(errno)));
  char head[sizeof kSqliteHead] = {};
  file.read(head, sizeof head);
  if (file.gcount() != sizeof head || std::memcmp(head, kSqliteHead, sizeof head) != 0) {
    throw InputError(path + ": is not a results database; name another file");
  }
  return true;
}

Opened open_for_writing(const std::string& path, const OpenOptions& options) {
  refuse_planted_link(path);
  const auto opened = [&] {
    bool exists = is_there(path);
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(options.busy_timeout_s));
    while (true) {
      try {
        Look look;
        if (exists) refuse_cut(path);
        if (exists) look = try_ready(path, Access::read_write, options);
        if (look.connection) return accept(std::move(look.connection), path);
        prepare(path, options, seconds_until(deadline));
        exists = true;
      } catch (const SQLite::Exception& error) {
        const bool half_way = is_transient(error) || is_shared_memory_failure(error);
        if (!half_way || Clock::now() >= deadline) throw;
        const double waited_s = options.busy_timeout_s - seconds_until(deadline);
        if (options.keep_waiting && !options.keep_waiting(waited_s)) throw;
        if (is_shared_memory_failure(error)) prepare(path, options, seconds_until(deadline));
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
  };
  return guarded(path, opened, Doing::opening);
}

Opened open_for_reading(const std::string& path, const OpenOptions& options) {
  if (!is_there(path)) {
    throw InputError(path +
                     ": does not exist; run `nsatune sweep` first, or name a file with --db");
  }
  refuse_cut(path);
  const auto opened = [&]() -> Opened {
    Look look;
    try {
      look = try_ready(path, Access::read_only, options);
    } catch (const SQLite::Exception& error) {
      if (is_journal_refused(error) && !has_journal(path)) {
        look = try_ready(path, Access::immutable, options);
      } else if (is_shared_memory_failure(error)) {
        look.state = SchemaState::older;  // a WAL file on a file system that cannot have one
      } else {
        throw;
      }
    }
    if (look.state == SchemaState::empty) {
      throw InputError(path + ": is empty; run `nsatune sweep` first, or name a file with --db");
    }
    if (!look.connection) {
      open_for_writing(path, options);
      look = try_ready(path, Access::read_only, options);
    }
    return {std::move(look.connection), {}};
  };
  return guarded(path, opened, Doing::opening);
}

std::unique_ptr<Connection> open_unchanged(const std::string& path, const OpenOptions& options) {
  if (!is_there(path)) throw InputError(path + ": does not exist; name a database that does");
  const auto opened = [&](Access access) {
    auto connection = std::make_unique<Connection>(path, access, options);
    if (has_journal(path)) connection->leave_journal();
    if (schema_state(connection->db(), path) == SchemaState::empty)
      throw InputError(path + ": is an empty database; leave it out");
    return connection;
  };
  try {
    return opened(Access::read_only);
  } catch (const SQLite::Exception& error) {
    const bool refused = is_journal_refused(error) || is_shared_memory_failure(error);
    if (!refused || has_journal(path)) throw;
    return opened(Access::immutable);
  }
}

}  // namespace nsa::store
