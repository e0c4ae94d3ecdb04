// Reading the tables of somebody else's SQLite file. Only this reader and tuner/store include
// sqlite3.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace nsa::trace {

/// A database that is only read. InputError for anything that is wrong with it.
class SqliteFile {
 public:
  explicit SqliteFile(const std::string& path);
  bool has_table(const std::string& name) const;
  bool has_column(const std::string& table, const std::string& column) const;
  /// `column` where the table has it, else "0": exports of older versions have fewer.
  std::string or_zero(const std::string& table, const std::string& column) const;
  const std::string& path() const noexcept { return path_; }
  [[noreturn]] void fail(const std::string& table, const std::string& what) const;
  sqlite3* handle() const noexcept { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const noexcept;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> db_;
  std::set<std::string> tables_;
  mutable std::map<std::string, std::set<std::string>> columns_;  // of tables that were asked for
};

/// Rows of one table: `columns` as in SELECT, numbered from 0.
class SqliteRows {
 public:
  SqliteRows(const SqliteFile& file, std::string table, const std::string& columns);
  bool next();
  std::int64_t integer(int column) const;                       // InputError when it is none
  std::optional<std::int64_t> maybe_integer(int column) const;  // NULL is nothing
  std::string_view text(int column) const;                      // empty when NULL
  [[noreturn]] void fail(const std::string& what) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  const SqliteFile& file_;
  std::string table_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::int64_t row_ = 0;
};

}  // namespace nsa::trace
