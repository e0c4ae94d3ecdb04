#include "train/report.hpp"

#include <cmath>

#include "train/options.hpp"

namespace nsa::cli {
namespace {

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json times_json(const TrainReport& r) {
  Json parts = Json::array();
  for (const auto& [key, part] : r.parts) {
    parts.push_back({{"phase", to_string(key.first)},
                     {"part", key.second},
                     {"calls", part.calls / std::max<std::int64_t>(r.parts_steps, 1)},
                     {"ns", part.ns / std::max<std::int64_t>(r.parts_steps, 1)}});
  }
  return parts;
}

Json rate_json(const training::TrainingConfig& c) {
  return {{"peak", c.rate.peak},
          {"schedule", to_string(c.rate.schedule)},
          {"warmup_steps", c.rate.warmup_steps},
          {"total_steps", c.rate.total_steps}};
}

Json optimizer_json(const training::TrainingConfig& c) {
  return {{"name", "AdamW"},
          {"beta1", c.optimizer.beta1},
          {"beta2", c.optimizer.beta2},
          {"epsilon", c.optimizer.epsilon},
          {"weight_decay", c.optimizer.weight_decay},
          {"max_norm", c.optimizer.max_norm}};
}

Json allocator_json(const AllocatorReport& a) {
  Json document{{"name", a.name},
                {"allocated_peak_bytes", a.peak.allocated},
                {"reserved_peak_bytes", a.peak.reserved}};
  if (a.keep_bytes) document["keep_bytes"] = *a.keep_bytes;
  return document;
}

}  // namespace

Json parts_json(const training::TrainingMemory& m) {
  return {{"weights", m.weights},         {"gradients", m.gradients}, {"optimizer", m.optimizer},
          {"activations", m.activations}, {"workspace", m.workspace}, {"inputs", m.inputs}};
}

Json losses_json(const TrainReport& r) {
  Json losses = Json::array();
  for (const training::StepResult& result : r.results) losses.push_back(finite(result.loss));
  return losses;
}

Json train_json(const TrainReport& r) {
  Json norms = Json::array();
  for (const training::StepResult& result : r.results) norms.push_back(finite(result.grad_norm));
  Json document{{"first_step", r.first_step},
                {"accumulate", r.config.accumulate},
                {"checkpoint", checkpoint_text(r.config.checkpoint)},
                {"masters", r.config.masters},
                {"deterministic", r.config.deterministic},
                {"graph", r.graph},
                {"data", r.data},
                {"rate", rate_json(r.config)},
                {"optimizer", optimizer_json(r.config)},
                {"grad_norms", std::move(norms)},
                {"times", times_json(r)},
                {"parts", parts_json(r.measured)},
                {"predicted_bytes", r.predicted.peak()},
                {"predicted_parts", parts_json(r.predicted)},
                {"arena_bytes", r.reserved_bytes},
                {"grow_events", r.grow_events}};
  if (r.allocator) document["allocator"] = allocator_json(*r.allocator);
  if (r.stopped) document["stopped"] = *r.stopped;
  return document;
}

}  // namespace nsa::cli
