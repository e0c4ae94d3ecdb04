#include "migrate.hpp"

#include <map>
#include <utility>

#include <fmt/core.h>
#include <SQLiteCpp/SQLiteCpp.h>

#include "nsa/schemas/error.hpp"

namespace nsa::store {
namespace {

std::int64_t read_number(SQLite::Database& db, const char* sql) {
  return db.execAndGet(sql).getInt64();
}

/// type and name of each schema object -> the statement that made it.
using Objects = std::map<std::pair<std::string, std::string>, std::string>;

Objects schema_objects(SQLite::Database& db) {
  Objects objects;
  SQLite::Statement query(db, "SELECT type, name, coalesce(sql, '') FROM sqlite_schema");
  while (query.executeStep()) {
    objects[{query.getColumn(0).getString(), query.getColumn(1).getString()}] =
        query.getColumn(2).getString();
  }
  return objects;
}

void run_steps(SQLite::Database& db, std::span<const Migration> steps, std::int64_t have) {
  for (const Migration& step : steps) {
    if (step.version > have) db.exec(std::string(step.sql));
  }
  // Pragmas take no parameters, and these two are part of the transaction.
  db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  db.exec(fmt::format("PRAGMA user_version = {}", steps.back().version));
}

/// A file can carry our mark and other tables under it, or triggers that act on what we write.
/// Tables, views and indices that a user added are none of our business.
void require_our_objects(SQLite::Database& db, const std::string& path) {
  static const Objects kExpected = [] {
    SQLite::Database memory(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    run_steps(memory, migrations(), 0);
    return schema_objects(memory);
  }();
  const Objects found = schema_objects(db);
  for (const auto& [key, sql] : kExpected) {
    const auto it = found.find(key);
    if (it == found.end() || it->second != sql) {
      throw InputError(fmt::format("{}: {} '{}' is not as nsatune made it; use another file", path,
                                   key.first, key.second));
    }
  }
  for (const auto& [key, sql] : found) {
    if (key.first == "trigger") {
      throw InputError(
          fmt::format("{}: holds a trigger ('{}'), which nsatune never makes; use "
                      "another file",
                      path, key.second));
    }
  }
}

struct Header {
  std::int64_t application_id = 0, version = 0, objects = 0;
};

SchemaState judge(const Header& header, const std::string& path) {
  const bool ours = header.application_id == kApplicationId;
  if (!ours && header.application_id == 0 && header.version == 0 && header.objects == 0) {
    return SchemaState::empty;
  }
  if (!ours || header.version < 1) {
    throw InputError(path + ": is a SQLite database of another program; name another file");
  }
  if (header.version > newest_version()) {
    throw InputError(
        fmt::format("{}: has schema version {}, this program knows {} at most; use "
                    "the newer nsatune that wrote it, or another file",
                    path, header.version, newest_version()));
  }
  return header.version < newest_version() ? SchemaState::older : SchemaState::current;
}

}  // namespace

int newest_version() noexcept { return migrations().back().version; }

SchemaState schema_state(SQLite::Database& db, const std::string& path) {
  // One read transaction, so that another process's migration is seen whole or not at all.
  SQLite::Transaction read(db, SQLite::TransactionBehavior::DEFERRED);
  Header header;
  header.objects = read_number(db, "SELECT count(*) FROM sqlite_schema");
  header.application_id = read_number(db, "PRAGMA application_id");
  header.version = read_number(db, "PRAGMA user_version");
  const SchemaState state = judge(header, path);
  if (state == SchemaState::current) require_our_objects(db, path);
  return state;
}

void migrate(SQLite::Database& db, const std::string& path, std::span<const Migration> steps) {
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  const std::int64_t have = read_number(db, "PRAGMA user_version");
  if (have > steps.back().version) {
    throw InputError(
        fmt::format("{}: has schema version {}, newer than {}", path, have, steps.back().version));
  }
  if (have < steps.back().version) run_steps(db, steps, have);
  transaction.commit();
}

}  // namespace nsa::store
