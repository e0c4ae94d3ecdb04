#include "measured_rates.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <tuple>

#include "files/database_wait.hpp"
#include "nsa/reports/tables.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/median.hpp"
#include "nsa/store/store.hpp"
#include "run/options.hpp"
#include "run/report.hpp"

namespace nsa::cli {
namespace {

using run_tables::Estimate;
using run_tables::MeasuredRate;

using Key = std::tuple<std::string, std::string, std::int64_t,
                       std::int64_t>;  // model, dtype, tokens of a sequence, batch
using Processes = std::map<std::int64_t, std::vector<double>>;  // ns, by process

/// The preset of `run` that a row of the stage `model` or `layer` is; nothing for other rows.
std::optional<std::string> preset_of(const Measurement& row) {
  if (row.variant.stages.size() != 1) return std::nullopt;
  const bool layer = row.variant.stages.front() == "layer";
  if (!layer && row.variant.stages.front() != "model") return std::nullopt;
  return preset_name_of(config_of(row.problem), layer);
}

/// The same for the model of a document of `run`.
std::optional<std::string> preset_of_run(const Json& model) {
  ModelConfig c;
  c.model_dim = model["model_dim"].get<std::int64_t>();
  c.layers = model["layers"].get<std::int64_t>();
  c.q_heads = model["q_heads"].get<std::int64_t>();
  c.kv_heads = model["kv_heads"].get<std::int64_t>();
  c.head_dim_k = model["head_dim_k"].get<std::int64_t>();
  c.head_dim_v = model["head_dim_v"].get<std::int64_t>();
  c.geometry = {model["cmp_block"].get<std::int64_t>(), model["cmp_stride"].get<std::int64_t>(),
                model["sel_block"].get<std::int64_t>(), model["sel_count"].get<std::int64_t>(),
                model["window"].get<std::int64_t>()};
  return preset_name_of(c, model["layer_only"].get<bool>());
}

bool answers_targets(const Measurement& row) {
  const Problem& p = row.problem;
  return row.outcome == Outcome::ok && row.verification == Verification::verified &&
         row.median_ns && *row.median_ns > 0 && !row.control && row.executor == kOwnExecutor &&
         p.direction == Direction::forward && p.phase == Phase::prefill &&
         p.total_tokens() == p.batch() * p.max_seq_len() && reports::role_in_catalog(row).empty();
}

Estimate rate_of(const Processes& processes, std::int64_t tokens) {
  std::vector<double> logs;
  for (const auto& [process, times] : processes)
    logs.push_back(std::log(static_cast<double>(tokens) * 1e9 / median(times)));
  return *run_tables::log_mean(logs);
}

/// Rates of sweeps: of whole models, in cold caches.
void add_sweep_rates(const store::Store& db, const Run& run, const Device& device,
                     std::vector<MeasuredRate>& rates) {
  std::map<std::pair<Key, std::string>, Processes> found;
  const store::Query query{.run_id = run.id, .device_uuid = device.uuid};
  db.for_each_measurement(query, [&](const Measurement& row) {
    if (!answers_targets(row)) return;
    const auto preset = preset_of(row);
    if (!preset) return;
    const Problem& p = row.problem;
    const Key key{*preset, std::string(to_string(p.dtype)), p.max_seq_len(), p.batch()};
    found[{key, to_string(row.variant)}][row.process].push_back(*row.median_ns);
  });
  for (const auto& [of, processes] : found) {
    const auto& [model, dtype, seq_len, batch] = of.first;
    rates.push_back({.device = device.name,
                     .model = model,
                     .seq_len = seq_len,
                     .batch = batch,
                     .direction = "forward",
                     .tokens_per_s = rate_of(processes, seq_len * batch),
                     .origin = fmt::format("{}, {} in cold caches, run {:.8} of {:.10}", dtype,
                                           of.second, run.id, run.started_at),
                     .day = run.started_at.substr(0, 10)});
  }
}

/// The users' switches of a result of `run`: "NSA_SEL_RANGES_V2=0".
std::string switches_of(const Json& run) {
  std::string text;
  const auto variables = run.find("variables");
  if (variables == run.end()) return text;
  for (const auto& [name, value] : variables->items()) {
    if (name.starts_with("NSA_")) text += " " + name + "=" + value.get<std::string>();
  }
  return text;
}

/// Whether it ran a whole model as it is: NSA with all branches.
bool is_whole(const store::RunResult& result) {
  return result.report["model"]["attention"] == "nsa" &&
         result.command.find(" --branches ") == std::string::npos;
}

/// Rates of the command `run`: those of a day, build, model, shape and setting are processes of
/// one.
void add_run_rates(const store::Store& db, std::vector<MeasuredRate>& rates) {
  std::map<std::string, std::pair<MeasuredRate, std::vector<double>>> found;
  for (const store::RunResult& result : db.run_results()) {
    const Json& run = result.report;
    const auto preset = preset_of_run(run["model"]);
    if (!preset || !is_whole(result) || ended_early(run)) continue;
    const std::string day = result.recorded_at.substr(0, 10);
    MeasuredRate rate{
        .device = run["device"]["name"].get<std::string>(),
        .model = *preset,
        .seq_len = run["seq_len"].get<std::int64_t>(),
        .batch = run["batch"].get<std::int64_t>(),
        .direction = run["direction"].get<std::string>(),
        .tokens_per_s = {},
        .origin = run["model"]["dtype"].get<std::string>() + switches_of(run) + ", run of " + day,
        .day = day};
    const std::string key = fmt::format("{} {} {} {} {}", run.value("version", std::string()),
                                        rate.device, result.command, rate.origin, rate.day);
    auto& [kept, logs] = found.try_emplace(key, rate, std::vector<double>{}).first->second;
    logs.push_back(std::log(run["tokens_per_s"].get<double>()));
  }
  for (auto& [key, of] : found) {
    of.first.tokens_per_s = *run_tables::log_mean(of.second);
    rates.push_back(std::move(of.first));
  }
}

}  // namespace

std::vector<MeasuredRate> measured_rates(const Settings& settings) {
  const auto db = existing_database(settings);
  std::vector<MeasuredRate> rates;
  for (const Run& run : db.runs()) {
    for (const Device& device : run.devices) add_sweep_rates(db, run, device, rates);
  }
  add_run_rates(db, rates);
  return rates;
}

}  // namespace nsa::cli
