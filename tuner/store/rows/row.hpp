// Values into a statement and out of a result row, one after the other, in column order.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/types.hpp"

namespace nsa::store {

/// Binds the parameters of a statement from the first on. Absent values become NULL.
class Binder {
 public:
  explicit Binder(SQLite::Statement& statement) : statement_(statement) {
    statement_.reset();
    statement_.clearBindings();
  }
  template <class... Values>
  Binder& add(const Values&... values) {
    (put(values), ...);
    return *this;
  }

 private:
  void put(const std::string& value) { statement_.bind(++index_, value); }
  void put(std::string_view value) { put(std::string(value)); }
  void put(const char* value) { put(std::string(value)); }
  void put(const std::vector<unsigned char>& blob) {
    // SQLite takes a null pointer for NULL, which an empty blob is not.
    const void* data = blob.empty() ? static_cast<const void*>("") : blob.data();
    statement_.bind(++index_, data, static_cast<int>(blob.size()));
  }
  template <class T>
  requires std::is_integral_v<T>  // bool as 0 and 1
  void put(T value) { statement_.bind(++index_, static_cast<std::int64_t>(value)); }
  void put(double value) {
    expects(!std::isnan(value), "numbers for the database");  // SQLite would store NULL
    statement_.bind(++index_, value);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value) return put(*value);
    statement_.bind(++index_);
  }

  SQLite::Statement& statement_;
  int index_ = 0;
};

/// All parameters of a statement at once.
template <class... Values>
void bind_values(SQLite::Statement& statement, const Values&... values) {
  Binder(statement).add(values...);
}
inline void bind_values(SQLite::Statement& statement, const std::vector<std::string>& values) {
  Binder binder(statement);
  for (const std::string& value : values) binder.add(value);
}

/// Reads the columns of the current row, one after the other.
class Row {
 public:
  /// `where` begins the message of an InputError: "results.sqlite: measurement". `first`: of the
  /// columns that are read, from 0.
  Row(const SQLite::Statement& statement, std::string where, int first = 0)
      : statement_(statement), where_(std::move(where)), index_(first) {}

  bool has_next() const { return index_ < statement_.getColumnCount(); }
  std::string text() { return next().getString(); }
  /// Into a text that keeps its memory.
  void text(std::string& into) {
    const SQLite::Column column = next();
    const char* begin = column.getText();  // before its size is asked for
    into.assign(begin, static_cast<std::size_t>(column.getBytes()));
  }
  std::int64_t integer() { return next().getInt64(); }
  double real() { return next().getDouble(); }
  bool boolean() { return next().getInt64() != 0; }
  std::optional<std::string> optional_text() { return optional<std::string>(); }
  std::optional<std::int64_t> optional_integer() { return optional<std::int64_t>(); }
  std::optional<double> optional_real() { return optional<double>(); }
  std::optional<bool> optional_boolean() {
    const auto value = optional_integer();
    return value ? std::optional(*value != 0) : std::nullopt;
  }
  /// Bytes that live until the statement steps.
  std::span<const unsigned char> blob() {
    const SQLite::Column column = next();
    return {static_cast<const unsigned char*>(column.getBlob()),
            static_cast<std::size_t>(column.getBytes())};
  }
  /// Into a value of any of these types.
  void get(std::string& into) { text(into); }
  void get(bool& into) { into = boolean(); }
  void get(double& into) { into = real(); }
  template <std::integral T>
  void get(T& into) {
    into = static_cast<T>(integer());
  }
  template <class T>
  requires std::is_enum_v<T>
  void get(T& into) { into = word<T>(); }
  template <class T>
  void get(std::optional<T>& into) {
    if (statement_.getColumn(index_).isNull()) {
      ++index_;
      into.reset();
    } else {
      get(into.emplace());
    }
  }
  template <class Enum>
  Enum word() {
    const std::string name = text();
    const auto value = from_string<Enum>(name);
    if (!value) throw InputError(where_ + ": unknown word '" + name + "'; name another file");
    return *value;
  }

 private:
  SQLite::Column next() { return statement_.getColumn(index_++); }
  template <class T>
  std::optional<T> optional() {
    const SQLite::Column column = next();
    if (column.isNull()) return std::nullopt;
    return static_cast<T>(column);
  }

  const SQLite::Statement& statement_;
  std::string where_;
  int index_;
};

}  // namespace nsa::store
