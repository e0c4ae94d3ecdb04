#include "measurement_row.hpp"

#include <cmath>
#include <limits>

#include "problem_row.hpp"
#include "row.hpp"
#include "samples_blob.hpp"

namespace nsa::store {
namespace {

// One list for both directions; the samples follow it.
constexpr const char* kColumns =
    "id, run_id, job_key, executor, placement_id, problem_id, variant_id, source_hash, process, "
    "round, position, pair_id, control, held_out, launch, timer, cold, outcome, reason, note, "
    "verification, "
    "worst_row_error, first_call_ns, workspace_bytes, grow_events, need_varlen_n, need_varlen_k, "
    "need_sel_pack_n, need_sel_pack_l, median_ns, mad_ns, samples_n, flop, bytes, sm_mhz, "
    "memory_mhz, temperature_c, power_w, throttle, measured_at";
constexpr const char* kParameters =
    "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

/// An error that is no number is as wrong as can be.
std::optional<double> storable(std::optional<double> error) {
  if (error && std::isnan(*error)) return std::numeric_limits<double>::infinity();
  return error;
}

void add_need(Binder& binder, const std::optional<ReserveNeed>& need) {
  if (need) {
    binder.add(need->varlen_n, need->varlen_k, need->sel_pack_n, need->sel_pack_l);
  } else {
    constexpr std::optional<std::int64_t> kAbsent;
    binder.add(kAbsent, kAbsent, kAbsent, kAbsent);
  }
}

std::optional<ReserveNeed> read_need(Row& row) {
  const auto varlen_n = row.optional_integer();
  const auto varlen_k = row.optional_integer();
  const auto sel_pack_n = row.optional_integer();
  const auto sel_pack_l = row.optional_integer();
  if (!varlen_n || !varlen_k || !sel_pack_n || !sel_pack_l) return std::nullopt;
  return ReserveNeed{*varlen_n, *varlen_k, *sel_pack_n, *sel_pack_l};
}

ClockReading read_clocks(Row& row) {
  ClockReading clocks;
  clocks.sm_mhz = row.optional_real();
  clocks.memory_mhz = row.optional_real();
  clocks.temperature_c = row.optional_real();
  clocks.power_w = row.optional_real();
  clocks.throttle = row.optional_text();
  return clocks;
}

/// The value that `read` gives for `id`, read once.
template <class Known, class Read>
const auto& remembered(Known& known, const std::string& id, Read read) {
  const auto it = known.find(id);
  return it != known.end() ? it->second : known.emplace(id, read()).first->second;
}

}  // namespace

MeasurementWriter::MeasurementWriter(SQLite::Database& db)
    : db_(db),
      insert_(db,
              std::string("INSERT INTO measurement (") + kColumns + ", samples) VALUES " +
                  kParameters +
                  " ON CONFLICT (run_id, executor, placement_id, job_key, control) DO NOTHING") {}

bool MeasurementWriter::put(const Measurement& m) {
  const std::string placement = placement_id(m.placement);
  const std::string problem = problem_id(m.problem);
  const std::string variant = variant_id(m.variant);
  if (!known_.contains(placement)) put_placement(db_, m.placement);
  if (!known_.contains(problem)) put_problem(db_, m.problem);
  if (!known_.contains(variant)) put_variant(db_, m.variant);
  Binder binder(insert_);
  binder.add(m.id, m.run_id, m.job_key, m.executor, placement, problem, variant, m.source_hash,
             m.process, m.round, m.position, m.pair_id, m.control, m.held_out, to_string(m.launch),
             to_string(m.timer), m.cold, to_string(m.outcome), m.reason, m.note,
             to_string(m.verification), storable(m.worst_row_error), m.first_call_ns,
             m.workspace_bytes, m.grow_events);
  add_need(binder, m.need);
  binder.add(m.median_ns, m.mad_ns, m.samples_n, m.cost.flop, m.cost.bytes, m.clocks.sm_mhz,
             m.clocks.memory_mhz, m.clocks.temperature_c, m.clocks.power_w, m.clocks.throttle,
             m.measured_at, pack_samples(m.samples));
  const bool added = insert_.exec() == 1;
  insert_.reset();
  put_ = {placement, problem, variant};
  return added;
}

void MeasurementWriter::kept() { known_.merge(put_); }

std::string MeasurementReader::select(bool with_samples) {
  return std::string("SELECT ") + kColumns + (with_samples ? ", samples" : "") +
         " FROM measurement m";
}

const Measurement& MeasurementReader::read(const SQLite::Statement& statement) {
  const std::string where = path_ + ": measurement " + statement.getColumn(0).getString();
  Row row(statement, where);
  Measurement& m = m_;
  row.text(m.id);
  row.text(m.run_id);
  row.text(m.job_key);
  row.text(m.executor);
  row.text(id_);
  m.placement = remembered(placements_, id_, [&] { return get_placement(db_, id_, path_); });
  row.text(id_);
  m.problem = remembered(problems_, id_, [&] { return get_problem(db_, id_, path_); });
  row.text(id_);
  m.variant = remembered(variants_, id_, [&] { return get_variant(db_, id_, path_); });
  row.text(m.source_hash);
  m.process = row.integer();
  m.round = row.integer();
  m.position = row.integer();
  row.text(m.pair_id);
  m.control = row.boolean();
  m.held_out = row.boolean();
  m.launch = row.word<LaunchMode>();
  m.timer = row.word<Timer>();
  m.cold = row.boolean();
  m.outcome = row.word<Outcome>();
  row.text(m.reason);
  row.text(m.note);
  m.verification = row.word<Verification>();
  m.worst_row_error = row.optional_real();
  m.first_call_ns = row.optional_integer();
  m.workspace_bytes = row.optional_integer();
  m.grow_events = row.optional_integer();
  m.need = read_need(row);
  m.median_ns = row.optional_real();
  m.mad_ns = row.optional_real();
  m.samples_n = row.integer();
  m.cost.flop = row.real();
  m.cost.bytes = row.real();
  m.clocks = read_clocks(row);
  row.text(m.measured_at);
  if (row.has_next()) {
    const auto blob = row.blob();
    m.samples.clear();
    if (blob.empty()) return m;  // pruned
    try {
      unpack_samples(blob, m.samples);
    } catch (const InputError& error) {
      throw InputError(where + ": " + error.what() + "; name another file");
    }
  }
  return m;
}

}  // namespace nsa::store
