#include "choices.hpp"

#include <map>
#include <memory>

#include "nsa/tuner/decide.hpp"
#include "nsa/tuner/foreign_worker.hpp"

namespace nsa::cli {
namespace {

using Tables = std::map<std::string, ThresholdTable>;  // by executor

bool chosen_in(const Tables& tables, const Measurement& row) {
  const auto table = tables.find(row.executor);
  if (table == tables.end()) return false;
  const Decision* decision =
      tuner::find_decision(table->second, class_of(row.problem), row.variant.stages);
  if (!decision) return false;
  const ThresholdRange* range = tuner::range_at(*decision, axis_value(row.problem, decision->axis));
  return range && range->variant == row.variant;
}

}  // namespace

reports::ChosenOf choices_of_run(const store::Store& db, const Run& run) {
  const auto tables = std::make_shared<Tables>();
  const auto foreign = tuner::foreign_worker_of(run);
  const auto orders = foreign ? foreign->orders : std::map<VariantId, worker::Orders>();
  for (const std::string& executor : db.executors({.run_id = run.id})) {
    tuner::DecideInput input;
    input.device = run.devices.empty() ? Device{} : run.devices.front();
    input.options.executor = executor;
    input.variants = tuner::traits_of(executor, input.device.backend, orders);
    bool verified = false;
    db.for_each_measurement({.run_id = run.id, .with_samples = true}, [&](const Measurement& row) {
      if (row.executor != executor) return;
      input.rows.add(row);
      verified = verified || row.verification == Verification::verified;
    });
    input.options.unverified = !verified;  // tune wants --unverified then; the table says so
    if (!input.rows.empty()) (*tables)[executor] = tuner::decide(input).table;
  }
  return [tables](const Measurement& row) { return chosen_in(*tables, row); };
}

}  // namespace nsa::cli
