#include "series.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/core.h>

#include "columns.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/median.hpp"
#include "problem_row.hpp"
#include "row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

constexpr const char* kList = "SELECT rowid FROM measurement WHERE run_id = ?1";
constexpr const char* kDevices = "SELECT 1 FROM placement WHERE id = ? AND device_uuid = ?";
constexpr int kKeySize = static_cast<int>(SeriesReader::kKeyColumns.size());

Columns key_columns() {
  Columns columns;
  for (const char* name : SeriesReader::kKeyColumns) columns.add(name);
  return columns;
}

std::string select_rows() {
  return "SELECT " + key_columns().names +
         ", source_hash, process, control, held_out, outcome, reason, verification, median_ns, "
         "sm_mhz, measured_at FROM measurement WHERE rowid = ?";
}

std::string select_kept() {
  return "SELECT " + key_columns().names + ", " + columns_of<KeptSeries>().names +
         ", processes FROM run_series WHERE run_id = ?";
}

/// A text where it lies; asked for as one, SQLite would copy it to end it with a zero.
std::string_view view_of(const SQLite::Column& column) {
  const void* begin = column.getBlob();  // before its size is asked for
  return {static_cast<const char*>(begin), static_cast<std::size_t>(column.getBytes())};
}

/// Into a key that keeps its memory.
void read_key(const SQLite::Statement& row, SeriesReader::Key& key) {
  key.resize(kKeySize);
  for (int i = 0; i < kKeySize; ++i) key[static_cast<std::size_t>(i)] = view_of(row.getColumn(i));
}

template <class Enum>
Enum word_of(std::string_view text, const std::string& path) {
  const auto value = from_string<Enum>(text);
  if (!value)
    throw InputError(path + ": measurement: unknown word '" + std::string(text) +
                     "'; name another file");
  return *value;
}

/// What one process gave: one value a visit.
struct Visits {
  std::vector<double> times_ns, cycles;
};

/// A series while its rows are read.
struct Collected {
  KeptSeries series;
  std::string hash_at;  // when the row of its source hash was measured
  std::map<std::int64_t, Visits> processes;
};

/// A row of a run.
struct Seen {
  Outcome outcome;
  Verification verification;
  std::optional<double> median_ns, sm_mhz;
  std::string_view reason, source_hash, measured_at;
  std::int64_t process;
};

std::string failure_of(const Seen& row) {
  const std::string_view what =
      row.outcome == Outcome::ok ? "wrong_result" : to_string(row.outcome);
  return fmt::format("{}{}{}", what, row.reason.empty() ? "" : ": ", row.reason);
}

/// The order of rows has no say: of two at one instant the greater text holds.
void add_row(Collected& to, const Seen& row) {
  KeptSeries& series = to.series;
  if (std::pair(row.measured_at, row.source_hash) >
      std::pair(std::string_view(to.hash_at), std::string_view(series.source_hash))) {
    to.hash_at = row.measured_at;
    series.source_hash = row.source_hash;
  }
  // What this build or device does not have was not tried.
  series.tried =
      series.tried || (row.outcome != Outcome::unsupported && row.outcome != Outcome::not_built);
  if (row.outcome == Outcome::ok && row.verification != Verification::wrong_result &&
      row.median_ns) {
    Visits& visits = to.processes[row.process];
    visits.times_ns.push_back(*row.median_ns);
    if (row.sm_mhz) visits.cycles.push_back(*row.median_ns * *row.sm_mhz / 1e3);
    return;
  }
  std::string failure = failure_of(row);
  if (std::pair(row.measured_at, std::string_view(failure)) <
      std::pair(std::string_view(series.failed_at), std::string_view(series.failure)))
    return;
  series.failure = std::move(failure);
  series.failed_at = row.measured_at;
}

KeptSeries finished(Collected&& of) {
  for (auto& [process, visits] : of.processes) {
    const bool clocked = visits.cycles.size() == visits.times_ns.size();
    ProcessTimes times{process, median(std::move(visits.times_ns)), std::nullopt};
    if (clocked) times.cycles = median(std::move(visits.cycles));
    of.series.processes.push_back(times);
  }
  return std::move(of.series);
}

struct Packed {
  std::int64_t process;
  double median_ns, cycles;  // NaN: no clock
};
static_assert(sizeof(Packed) == 24 && std::endian::native == std::endian::little);

std::vector<unsigned char> pack(std::span<const ProcessTimes> processes) {
  std::vector<unsigned char> blob(processes.size() * sizeof(Packed));
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const ProcessTimes& one = processes[i];
    const Packed packed{one.process, one.median_ns,
                        one.cycles.value_or(std::numeric_limits<double>::quiet_NaN())};
    std::memcpy(blob.data() + i * sizeof packed, &packed, sizeof packed);
  }
  return blob;
}

/// Into a vector that keeps its memory.
void unpack(std::span<const unsigned char> blob, std::vector<ProcessTimes>& processes,
            const std::string& path) {
  if (blob.size() % sizeof(Packed) != 0)
    throw InputError(path + ": run_series: times that are cut; name another file");
  processes.resize(blob.size() / sizeof(Packed));
  for (std::size_t i = 0; i < processes.size(); ++i) {
    Packed packed;
    std::memcpy(&packed, blob.data() + i * sizeof packed, sizeof packed);
    processes[i] = {packed.process, packed.median_ns, std::nullopt};
    if (!std::isnan(packed.cycles)) processes[i].cycles = packed.cycles;
  }
}

void put(SQLite::Database& db, const std::string& run_id, const SeriesReader::SeriesByKey& series) {
  const Columns of_key = key_columns();
  const Columns& of_series = columns_of<KeptSeries>();
  SQLite::Statement insert(db, "INSERT INTO run_series (run_id, " + of_key.names + ", " +
                                   of_series.names + ", processes) VALUES (?," + of_key.parameters +
                                   "," + of_series.parameters + ",?)");
  for (const auto& [key, one] : series) {
    Binder binder(insert);
    binder.add(run_id);
    for (const std::string& part : key) binder.add(part);
    bind_columns(binder, one, kNoRows);
    binder.add(pack(one.processes));
    insert.exec();
  }
}

std::vector<std::string> ids(SQLite::Database& db, const char* sql) {
  SQLite::Statement query(db, sql);
  std::vector<std::string> found;
  while (query.executeStep()) found.push_back(query.getColumn(0).getString());
  return found;
}

/// Runs that have ended and whose series are not kept yet.
std::vector<std::string> runs_without_series(SQLite::Database& db) {
  return ids(db,
             "SELECT id FROM run r WHERE state <> 'open' AND NOT EXISTS (SELECT 1 FROM run_series "
             "s WHERE s.run_id = r.id) AND EXISTS (SELECT 1 FROM measurement m WHERE m.run_id = "
             "r.id)");
}

}  // namespace

SeriesReader::SeriesReader(SQLite::Database& db, std::string path)
    : db_(db),
      path_(std::move(path)),
      list_(db, kList),
      select_(db, select_rows()),
      kept_(db, select_kept()),
      devices_(db, kDevices) {}

std::vector<std::int64_t> SeriesReader::rows_of(const std::string& run_id) {
  bind_values(list_, run_id);
  std::vector<std::int64_t> rows;
  while (list_.executeStep()) rows.push_back(list_.getColumn(0).getInt64());
  list_.reset();
  std::sort(rows.begin(), rows.end());
  return rows;
}

SeriesReader::SeriesByKey SeriesReader::of_rows(const std::string& run_id) {
  std::map<Key, Collected> found;
  Key key;
  for (const std::int64_t rowid : rows_of(run_id)) {
    bind_values(select_, rowid);
    if (!select_.executeStep()) {  // an index that disagrees with its table
      throw InputError(path_ + ": is damaged: an index names a measurement that is not there; " +
                       "nsatune db verify lists all that is wrong");
    }
    const auto column = [&](int i) { return select_.getColumn(kKeySize + i); };
    const bool control = column(2).getInt64() != 0, held_out = column(3).getInt64() != 0;
    if (control || held_out) continue;
    const auto real = [&](int i) {
      return column(i).isNull() ? std::nullopt : std::optional(column(i).getDouble());
    };
    read_key(select_, key);
    add_row(found[key], {.outcome = word_of<Outcome>(view_of(column(4)), path_),
                         .verification = word_of<Verification>(view_of(column(6)), path_),
                         .median_ns = real(7),
                         .sm_mhz = real(8),
                         .reason = view_of(column(5)),
                         .source_hash = view_of(column(0)),
                         .measured_at = view_of(column(9)),
                         .process = column(1).getInt64()});
  }
  select_.reset();
  SeriesByKey series;
  for (auto& [its, collected] : found) series[its] = finished(std::move(collected));
  return series;
}

SeriesReader::SeriesByKey SeriesReader::kept(const std::string& run_id) {
  SeriesByKey series;
  bind_values(kept_, run_id);
  Key key;
  while (kept_.executeStep()) {
    read_key(kept_, key);
    KeptSeries& one = series[key];
    Row row(kept_, path_, kKeySize);
    read_columns(row, one, kNoRows);
    unpack(row.blob(), one.processes, path_);
  }
  kept_.reset();
  return series;
}

bool SeriesReader::is_on(const std::string& placement, const std::string& device_uuid) {
  const auto [known, is_new] = is_on_.try_emplace({placement, device_uuid});
  if (is_new) {
    bind_values(devices_, placement, device_uuid);
    known->second = devices_.executeStep();
    devices_.reset();
  }
  return known->second;
}

const Measurement& SeriesReader::kind(const Key& key) {
  const auto [known, is_new] = kinds_.try_emplace(Key(key.begin() + 1, key.end()));
  if (!is_new) return *known->second;
  auto made = std::make_unique<Measurement>();
  made->problem = get_problem(db_, key[1], path_);
  made->variant = get_variant(db_, key[2], path_);
  made->executor = key[3];
  made->launch = word_of<LaunchMode>(key[4], path_);
  made->timer = word_of<Timer>(key[5], path_);
  made->cold = key[6] == "1";
  known->second = std::move(made);
  return *known->second;
}

void SeriesReader::for_each(const std::string& run_id, const std::string& device_uuid,
                            const std::function<void(const SeriesOfRun&)>& visit) {
  SQLite::Transaction read(db_, SQLite::TransactionBehavior::DEFERRED);  // one consistent state
  SeriesByKey series = kept(run_id);
  if (series.empty()) series = of_rows(run_id);
  for (const auto& [key, one] : series) {
    if (!is_on(key[0], device_uuid)) continue;
    visit({.kind = kind(key),
           .source_hash = one.source_hash,
           .tried = one.tried,
           .failure = one.failure,
           .failed_at = one.failed_at,
           .processes = one.processes});
  }
}

void keep_series(SQLite::Database& db, const std::string& path) {
  SeriesReader reader(db, path);
  for (const std::string& run : runs_without_series(db)) {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    forget_series(db, run);  // another process may have been here in between
    put(db, run, reader.of_rows(run));
    transaction.commit();
  }
}

void keep_series_within(SQLite::Database& db, const std::string& path) {
  SeriesReader reader(db, path);
  for (const std::string& run : runs_without_series(db)) put(db, run, reader.of_rows(run));
}

void forget_series(SQLite::Database& db, const std::string& run_id) {
  SQLite::Statement forget(db, "DELETE FROM run_series WHERE run_id = ?");
  bind_values(forget, run_id);
  forget.exec();
}

std::vector<std::string> runs_with_wrong_series(SQLite::Database& db, const std::string& path) {
  SeriesReader reader(db, path);
  std::vector<std::string> wrong;
  for (const std::string& run : ids(db, "SELECT DISTINCT run_id FROM run_series")) {
    if (reader.kept(run) != reader.of_rows(run)) wrong.push_back(run);
  }
  return wrong;
}

void Store::for_each_series(const std::string& run_id, const std::string& device_uuid,
                            const std::function<void(const SeriesOfRun&)>& visit) const {
  state_->use([&](SQLite::Database& db) {
    if (!state_->series) state_->series = std::make_unique<SeriesReader>(db, state_->path);
    state_->series->for_each(run_id, device_uuid, visit);
  });
}

}  // namespace nsa::store
