// The measurement table: the struct, column by column.
#pragma once

#include <map>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "nsa/schemas/measurement.hpp"

namespace nsa::store {

/// Inserts the row and what it refers to, within the caller's transaction. False when the same
/// (run, executor, placement, job_key, control) is there already.
bool put_measurement(SQLite::Database& db, const Measurement& measurement);

/// Makes measurements of rows; remembers problems, variants and placements that it has read.
class MeasurementReader {
 public:
  MeasurementReader(SQLite::Database& db, std::string path) : db_(db), path_(std::move(path)) {}
  /// "SELECT ... FROM measurement m", to which the caller adds WHERE and ORDER BY.
  static std::string select(bool with_samples);
  /// The current row of a statement that begins with select(). InputError on a damaged row.
  Measurement read(const SQLite::Statement& row);

 private:
  SQLite::Database& db_;
  std::string path_;
  std::map<std::string, Problem> problems_;
  std::map<std::string, VariantId> variants_;
  std::map<std::string, Placement> placements_;
};

}  // namespace nsa::store
