#include "sqlite_rows.hpp"

#include <sqlite3.h>

#include "nsa/schemas/error.hpp"

namespace nsa::trace {

void SqliteFile::Close::operator()(sqlite3* db) const noexcept { sqlite3_close(db); }

SqliteFile::SqliteFile(const std::string& path) : path_(path) {
  sqlite3* db = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr);
  db_.reset(db);
  if (status != SQLITE_OK) throw InputError(path + ": " + sqlite3_errstr(status));
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  SqliteRows rows(*this, "sqlite_master", "type, name");
  while (rows.next())
    if (rows.text(0) == "table") tables_.emplace(rows.text(1));
}

bool SqliteFile::has_table(const std::string& name) const { return tables_.contains(name); }

bool SqliteFile::has_column(const std::string& table, const std::string& column) const {
  const auto [at, first] = columns_.try_emplace(table);
  if (first) {
    SqliteRows rows(*this, "pragma_table_info('" + table + "')", "name");
    while (rows.next()) at->second.emplace(rows.text(0));
  }
  return at->second.contains(column);
}

std::string SqliteFile::or_zero(const std::string& table, const std::string& column) const {
  return has_column(table, column) ? "coalesce(" + column + ", 0)" : "0";
}

void SqliteFile::fail(const std::string& table, const std::string& what) const {
  throw InputError(path_ + ": table " + table + ": " + what);
}

void SqliteRows::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
  sqlite3_finalize(statement);
}

SqliteRows::SqliteRows(const SqliteFile& file, std::string table, const std::string& columns)
    : file_(file), table_(std::move(table)) {
  sqlite3_stmt* statement = nullptr;
  const std::string sql = "SELECT " + columns + " FROM " + table_;
  if (sqlite3_prepare_v2(file.handle(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    file.fail(table_, sqlite3_errmsg(file.handle()));
  statement_.reset(statement);
}

bool SqliteRows::next() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_DONE) return false;
  if (status != SQLITE_ROW) fail(sqlite3_errmsg(file_.handle()));
  ++row_;
  return true;
}

std::int64_t SqliteRows::integer(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER)
    fail(std::string("column ") + sqlite3_column_name(statement_.get(), column) +
         " is not a whole number");
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<std::int64_t> SqliteRows::maybe_integer(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return {};
  return integer(column);
}

std::string_view SqliteRows::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text ? std::string_view(text, size) : std::string_view();
}

void SqliteRows::fail(const std::string& what) const {
  file_.fail(table_, (row_ > 0 ? "row " + std::to_string(row_) + ": " : "") + what);
}

}  // namespace nsa::trace
