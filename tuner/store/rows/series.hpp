// The series of a run: medians of its processes, from what was kept when it ended or from its rows.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "nsa/schemas/fields/description.hpp"
#include "nsa/store/store.hpp"

namespace nsa::store {

/// One series of a run on one placement, as it is kept in the table run_series.
struct KeptSeries {
  std::string source_hash;  // of its last row
  bool tried = false;
  std::string failure, failed_at;
  std::vector<ProcessTimes> processes;
  bool operator==(const KeptSeries&) const = default;
};

}  // namespace nsa::store

namespace nsa::fields {

/// Its times are bytes in a column of their own.
template <>
inline constexpr auto kFields<store::KeptSeries> = std::tuple{
    required("source_hash", &store::KeptSeries::source_hash),
    required("tried", &store::KeptSeries::tried), required("failure", &store::KeptSeries::failure),
    required("failed_at", &store::KeptSeries::failed_at)};

}  // namespace nsa::fields

namespace nsa::store {

/// Its statements are prepared once, because a history asks for hundreds of runs.
class SeriesReader {
 public:
  SeriesReader(SQLite::Database& db, std::string path);
  void for_each(const std::string& run_id, const std::string& device_uuid,
                const std::function<void(const SeriesOfRun&)>& visit);

  /// Columns of a kind and of its placement.
  static constexpr std::array<const char*, 7> kKeyColumns{
      "placement_id", "problem_id", "variant_id", "executor", "launch", "timer", "cold"};
  using Key = std::vector<std::string>;
  using SeriesByKey = std::map<Key, KeptSeries>;
  /// From the rows of the run.
  SeriesByKey of_rows(const std::string& run_id);
  /// From the table; empty where they were not kept.
  SeriesByKey kept(const std::string& run_id);

 private:
  /// Ids of the rows of a run in the order in which they lie in the file: rows that are asked for
  /// in another order are read from the disk again and again.
  std::vector<std::int64_t> rows_of(const std::string& run_id);
  bool is_on(const std::string& placement, const std::string& device_uuid);
  const Measurement& kind(const Key& key);

  SQLite::Database& db_;
  std::string path_;
  SQLite::Statement list_, select_, kept_, devices_;
  std::map<Key, std::unique_ptr<Measurement>> kinds_;  // without the placement
  std::map<std::pair<std::string, std::string>, bool> is_on_;
};

/// Keeps the series of all runs that have ended and whose series are not kept. A run is one
/// transaction.
void keep_series(SQLite::Database& db, const std::string& path);
/// The same within a transaction of the caller.
void keep_series_within(SQLite::Database& db, const std::string& path);
/// To be called, in the same transaction, before rows are added to the run.
void forget_series(SQLite::Database& db, const std::string& run_id);
/// Runs whose kept series are not those of their rows.
std::vector<std::string> runs_with_wrong_series(SQLite::Database& db, const std::string& path);

}  // namespace nsa::store
