#include "snapshot.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <sqlite3.h>
#include <SQLiteCpp/Backup.h>

#include "migrate.hpp"
#include "nsa/schemas/error.hpp"
#include "opening.hpp"
#include "sqlite_error.hpp"
#include "verify.hpp"

namespace nsa::store {
namespace {

/// Nobody misses the copy after a power cut.
constexpr const char* kNotDurable = "PRAGMA synchronous = OFF";

void copy_pages(const std::string& path, const std::string& copy, const OpenOptions& options) {
  const auto source = open_unchanged(path, options);
  Connection target(copy, Access::create, options);
  target.db().exec(kNotDurable);
  SQLite::Backup backup(target.db(), source->db());
  const int result = backup.executeStep(-1);
  if (result != SQLITE_DONE) throw SQLite::Exception("database is locked", result);
}

/// What `verify` finds in the copy is wrong with the original.
void check_copy(const std::string& path, const std::string& copy, const OpenOptions& options) {
  Connection connection(copy, Access::read_write, options);
  connection.db().exec(kNotDurable);
  migrate(connection.db(), path, migrations());
  schema_state(connection.db(), path);
  connection.db().exec("DELETE FROM run_series");  // a merge makes them anew from the rows
  const std::vector<std::string> problems = problems_of(connection.db(), path);
  if (problems.empty()) return;
  std::string problem = problems.front();
  if (problem.starts_with(path + ": ")) problem.erase(0, path.size() + 2);
  std::replace(problem.begin(), problem.end(), '\n', ' ');
  throw InputError(
      fmt::format("{}: is damaged: {}; nsatune db verify lists all that is wrong", path, problem));
}

}  // namespace

void take_snapshot(const std::string& path, const std::string& copy, const OpenOptions& options) {
  try {
    copy_pages(path, copy, options);
    check_copy(path, copy, options);
  } catch (const SQLite::Exception& error) {
    raise(is_disk_full(error) ? copy : path, error, Doing::opening);
  }
}

}  // namespace nsa::store
