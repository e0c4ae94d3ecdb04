#include "times.hpp"

#include <algorithm>

#include "nsa/schemas/error.hpp"
#include "problem_row.hpp"
#include "row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

constexpr const char* kList =
    "SELECT rowid FROM measurement WHERE run_id = ?1 AND (?2 IS NULL OR placement_id IN (SELECT id "
    "FROM placement WHERE device_uuid = ?2))";
/// The first six are a kind.
constexpr const char* kSelect =
    "SELECT problem_id, variant_id, executor, launch, timer, cold, source_hash, process, control, "
    "held_out, outcome, reason, verification, median_ns, sm_mhz, measured_at FROM measurement "
    "WHERE rowid = ?";
constexpr int kKindColumns = 6;

/// A text where it lies; asked for as one, SQLite would copy it to end it with a zero.
std::string_view view_of(const SQLite::Column& column) {
  const void* begin = column.getBlob();  // before its size is asked for
  return {static_cast<const char*>(begin), static_cast<std::size_t>(column.getBytes())};
}

std::optional<double> real_of(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional(column.getDouble());
}

template <class Enum>
Enum word_of(const SQLite::Column& column, const std::string& path) {
  const auto value = from_string<Enum>(view_of(column));
  if (!value)
    throw InputError(path + ": measurement: unknown word '" + column.getString() +
                     "'; name another file");
  return *value;
}

}  // namespace

TimesReader::TimesReader(SQLite::Database& db, std::string path)
    : db_(db), path_(std::move(path)), list_(db, kList), select_(db, kSelect) {}

void TimesReader::list(const std::string& run_id, const std::optional<std::string>& device_uuid) {
  bind_values(list_, run_id, device_uuid);
  rows_.clear();
  while (list_.executeStep()) rows_.push_back(list_.getColumn(0).getInt64());
  list_.reset();
  std::sort(rows_.begin(), rows_.end());
}

const Measurement& TimesReader::kind() {
  key_.clear();
  for (int i = 0; i < kKindColumns; ++i) {
    key_ += view_of(select_.getColumn(i));
    key_ += '\n';
  }
  auto& kind = kinds_[key_];
  if (kind) return *kind;
  kind = std::make_unique<Measurement>();
  Row row(select_, path_ + ": measurement");
  kind->problem = get_problem(db_, row.text(), path_);
  kind->variant = get_variant(db_, row.text(), path_);
  kind->executor = row.text();
  kind->launch = row.word<LaunchMode>();
  kind->timer = row.word<Timer>();
  kind->cold = row.boolean();
  return *kind;
}

void TimesReader::for_each(const std::string& run_id, const std::optional<std::string>& device_uuid,
                           const std::function<void(const TimeRow&)>& visit) {
  SQLite::Transaction read(db_, SQLite::TransactionBehavior::DEFERRED);  // one consistent state
  list(run_id, device_uuid);
  for (const std::int64_t rowid : rows_) {
    bind_values(select_, rowid);
    if (!select_.executeStep()) {  // an index that disagrees with its table
      throw InputError(path_ + ": is damaged: an index names a measurement that is not there; " +
                       "nsatune db verify lists all that is wrong");
    }
    const auto column = [&](int i) { return select_.getColumn(kKindColumns + i); };
    TimeRow row{kind()};
    row.source_hash = view_of(column(0));
    row.process = column(1).getInt64();
    row.control = column(2).getInt64() != 0;
    row.held_out = column(3).getInt64() != 0;
    row.outcome = word_of<Outcome>(column(4), path_);
    row.reason = view_of(column(5));
    row.verification = word_of<Verification>(column(6), path_);
    row.median_ns = real_of(column(7));
    row.sm_mhz = real_of(column(8));
    row.measured_at = view_of(column(9));
    visit(row);
  }
  select_.reset();
}

void Store::for_each_time(const std::string& run_id, const std::optional<std::string>& device_uuid,
                          const std::function<void(const TimeRow&)>& visit) const {
  state_->use([&](SQLite::Database& db) {
    if (!state_->times) state_->times = std::make_unique<TimesReader>(db, state_->path);
    state_->times->for_each(run_id, device_uuid, visit);
  });
}

}  // namespace nsa::store
