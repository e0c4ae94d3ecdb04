// What a Store holds.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "file/connection.hpp"
#include "file/sqlite_error.hpp"
#include "nsa/store/store.hpp"
#include "rows/measurement_row.hpp"
#include "rows/series.hpp"

namespace nsa::store {

struct Store::State {
  std::string path;
  OpenOptions options;
  std::unique_ptr<Connection> connection;
  std::vector<std::string> notes;
  std::unique_ptr<MeasurementWriter> writer = {};  // made for the first row; ends before connection
  std::unique_ptr<SeriesReader> series = {};       // likewise

  SQLite::Database& db() const noexcept { return connection->db(); }
  /// Runs `body(db)`; SQLite's errors leave as ours.
  template <class Body>
  auto use(Body&& body) const {
    return guarded(path, [&] { return std::forward<Body>(body)(db()); });
  }
};

}  // namespace nsa::store
