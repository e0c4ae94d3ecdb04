// The measurement table: the struct, column by column.
#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include <SQLiteCpp/SQLiteCpp.h>

#include "nsa/schemas/measurement.hpp"

namespace nsa::store {

/// Puts measurements into a database: its statement is prepared once, and what rows refer to is
/// inserted once, because a sweep waits for each commit.
class MeasurementWriter {
 public:
  explicit MeasurementWriter(SQLite::Database& db);
  /// Inserts the row and what it refers to, within the caller's transaction. False when the same
  /// (run, executor, placement, job_key, control) is there already.
  bool put(const Measurement& measurement);
  /// The transaction that had the last row is kept: what it inserted is known from now on.
  void kept();

 private:
  SQLite::Database& db_;
  SQLite::Statement insert_;
  std::set<std::string> known_, put_;  // ids of problems, variants and placements: kept, or not yet
};

/// Makes measurements of rows; remembers problems, variants and placements that it has read.
class MeasurementReader {
 public:
  MeasurementReader(SQLite::Database& db, std::string path) : db_(db), path_(std::move(path)) {}
  /// "SELECT ... FROM measurement m", to which the caller adds WHERE and ORDER BY.
  static std::string select(bool with_samples);
  /// The current row of a statement that begins with select(); it lasts until the next one is read.
  /// InputError on a damaged row.
  const Measurement& read(const SQLite::Statement& row);

 private:
  SQLite::Database& db_;
  std::string path_;
  template <class Value>
  using ById = std::unordered_map<std::string, Value>;
  ById<Problem> problems_;
  ById<VariantId> variants_;
  ById<Placement> placements_;
  Measurement m_;   // reused, so that its texts and vectors keep their memory
  std::string id_;  // of a problem, variant or placement; reused likewise
};

}  // namespace nsa::store
