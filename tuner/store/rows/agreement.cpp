// How far selections of reduced precision agree with the reference, beside the measurements.
#include "nsa/schemas/agreement.hpp"

#include "filter.hpp"
#include "launch_subject.hpp"
#include "nsa/schemas/error.hpp"
#include "problem_row.hpp"
#include "row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

constexpr const char* kColumns =
    "id, run_id, executor, placement_id, problem_id, variant_id, source_hash, launch, blocks, "
    "same, "
    "checked_at";

}  // namespace

bool Store::add(const AgreementRow& r) {
  expects(!r.id.empty() && r.agreement.blocks > 0, "an agreement with an id, over some blocks");
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const std::string placement = put_placement(db, r.placement);
    const std::string problem = put_problem(db, r.problem);
    const std::string variant = put_variant(db, r.variant);
    SQLite::Statement insert(db, std::string("INSERT INTO agreement (") + kColumns +
                                     ") VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING");
    bind_values(insert, r.id, r.run_id, r.executor, placement, problem, variant, r.source_hash,
                to_string(r.launch), r.agreement.blocks, r.agreement.same, r.checked_at);
    const bool added = insert.exec() == 1;
    transaction.commit();
    return added;
  });
}

std::vector<AgreementRow> Store::agreements(const Query& query) const {
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction read(db, SQLite::TransactionBehavior::DEFERRED);
    const Filter filter = filter_of(query);
    SQLite::Statement select(db, std::string("SELECT ") + kColumns + " FROM agreement m" +
                                     filter.sql + " ORDER BY checked_at, id");
    bind_values(select, filter.parameters);
    std::vector<AgreementRow> found;
    while (select.executeStep()) {
      Row row(select, state_->path + ": agreement " + select.getColumn(0).getString());
      AgreementRow& r = found.emplace_back();
      get_subject(db, row, state_->path, r);
      r.agreement.blocks = row.integer();
      r.agreement.same = row.integer();
      r.checked_at = row.text();
    }
    return found;
  });
}

}  // namespace nsa::store
