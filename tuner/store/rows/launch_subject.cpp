#include "launch_subject.hpp"

#include "problem_row.hpp"

namespace nsa::store {

void get_subject(SQLite::Database& db, Row& row, const std::string& path, LaunchSubject& subject) {
  subject.id = row.text();
  subject.run_id = row.text();
  subject.executor = row.text();
  subject.placement = get_placement(db, row.text(), path);
  subject.problem = get_problem(db, row.text(), path);
  subject.variant = get_variant(db, row.text(), path);
  subject.source_hash = row.text();
  subject.launch = row.word<LaunchMode>();
}

}  // namespace nsa::store
