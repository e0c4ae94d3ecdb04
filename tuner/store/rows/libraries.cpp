// Optional libraries as their probes found them when a run began.
#include "row.hpp"
#include "run_row.hpp"

namespace nsa::store {

void put_libraries(SQLite::Database& db, const std::string& run_id,
                   const std::vector<Capability>& libraries) {
  SQLite::Statement insert(
      db,
      "INSERT INTO library (run_id, position, name, usable, version, reason) VALUES (?,?,?,?,?,?)");
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    const Capability& c = libraries[i];
    bind_values(insert, run_id, i, c.library, c.usable, c.version, c.reason);
    insert.exec();
  }
}

std::vector<Capability> get_libraries(SQLite::Database& db, const std::string& run_id) {
  SQLite::Statement query(
      db, "SELECT name, usable, version, reason FROM library WHERE run_id = ? ORDER BY position");
  bind_values(query, run_id);
  std::vector<Capability> libraries;
  while (query.executeStep()) {
    Row row(query, "library");
    Capability& c = libraries.emplace_back();
    c.library = row.text();
    c.usable = row.boolean();
    c.version = row.text();
    c.reason = row.text();
  }
  return libraries;
}

}  // namespace nsa::store
