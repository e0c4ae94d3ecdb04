// How far selections of reduced precision agree with the reference, beside the measurements.
#include "nsa/schemas/launch_subject.hpp"

#include "filter.hpp"
#include "launch_subject.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/fields/launch.hpp"
#include "state.hpp"

namespace nsa::store {
bool Store::add(const AgreementRow& r) {
  expects(!r.id.empty() && r.agreement.blocks > 0, "an agreement with an id, over some blocks");
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement insert(db, insert_launch<AgreementRow>("agreement"));
    bind_launch(db, insert, r);
    const bool added = insert.exec() == 1;
    transaction.commit();
    return added;
  });
}

std::vector<AgreementRow> Store::agreements(const Query& query) const {
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction read(db, SQLite::TransactionBehavior::DEFERRED);
    const Filter filter = filter_of(query);
    SQLite::Statement select(db, "SELECT " + columns_of<AgreementRow>().names +
                                     " FROM agreement m" + filter.sql + " ORDER BY checked_at, id");
    bind_values(select, filter.parameters);
    std::vector<AgreementRow> found;
    while (select.executeStep()) {
      Row row(select, state_->path + ": agreement " + select.getColumn(0).getString());
      get_launch(db, row, state_->path, found.emplace_back());
    }
    return found;
  });
}

}  // namespace nsa::store
