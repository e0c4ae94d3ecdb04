#include "measurement_row.hpp"

#include "columns.hpp"
#include "nsa/schemas/fields/measurement.hpp"
#include "problem_row.hpp"
#include "row.hpp"
#include "samples_blob.hpp"

namespace nsa::store {
namespace {

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
              "INSERT INTO measurement (" + columns_of<Measurement>().names +
                  ", samples) VALUES (" + columns_of<Measurement>().parameters +
                  ",?) ON CONFLICT (run_id, executor, placement_id, job_key, control) DO NOTHING") {
}

bool MeasurementWriter::put(const Measurement& m) {
  const std::string placement = placement_id(m.placement);
  const std::string problem = problem_id(m.problem);
  const std::string variant = variant_id(m.variant);
  if (!known_.contains(placement)) put_placement(db_, m.placement);
  if (!known_.contains(problem)) put_problem(db_, m.problem);
  if (!known_.contains(variant)) put_variant(db_, m.variant);
  Binder binder(insert_);
  bind_columns(binder, m, [&]<class Part>(const Part&) -> const std::string& {
    if constexpr (std::same_as<Part, Placement>) return placement;
    if constexpr (std::same_as<Part, Problem>) return problem;
    if constexpr (std::same_as<Part, VariantId>) return variant;
  });
  binder.add(pack_samples(m.samples));
  const bool added = insert_.exec() == 1;
  insert_.reset();
  put_ = {placement, problem, variant};
  return added;
}

void MeasurementWriter::kept() { known_.merge(put_); }

std::string MeasurementReader::select(bool with_samples) {
  return "SELECT " + columns_of<Measurement>().names + (with_samples ? ", samples" : "") +
         " FROM measurement m";
}

const Measurement& MeasurementReader::read(const SQLite::Statement& statement) {
  const std::string where = path_ + ": measurement " + statement.getColumn(0).getString();
  Row row(statement, where);
  Measurement& m = m_;
  read_columns(row, m, [&]<class Part>(Row& from, Part& part) {
    from.text(id_);
    if constexpr (std::same_as<Part, Placement>)
      part = remembered(placements_, id_, [&] { return get_placement(db_, id_, path_); });
    if constexpr (std::same_as<Part, Problem>)
      part = remembered(problems_, id_, [&] { return get_problem(db_, id_, path_); });
    if constexpr (std::same_as<Part, VariantId>)
      part = remembered(variants_, id_, [&] { return get_variant(db_, id_, path_); });
  });
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
