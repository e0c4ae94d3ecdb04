// Rows as a history of times sees them: a few columns, and what many rows share once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "nsa/store/store.hpp"

namespace nsa::store {

/// Its statements are prepared once, because a history asks for hundreds of runs.
class TimesReader {
 public:
  TimesReader(SQLite::Database& db, std::string path);
  void for_each(const std::string& run_id, const std::optional<std::string>& device_uuid,
                const std::function<void(const TimeRow&)>& visit);

 private:
  /// Ids of the rows of a run in the order in which they lie in the file: rows that are asked for
  /// in another order are read from the disk again and again.
  void list(const std::string& run_id, const std::optional<std::string>& device_uuid);
  /// The current row's, made at its first sight.
  const Measurement& kind();

  SQLite::Database& db_;
  std::string path_;
  SQLite::Statement list_, select_;
  std::vector<std::int64_t> rows_;
  std::unordered_map<std::string, std::unique_ptr<Measurement>> kinds_;
  std::string key_;
};

}  // namespace nsa::store
