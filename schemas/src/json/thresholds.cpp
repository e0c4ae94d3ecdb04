// JSON of a thresholds file, from the evidence up.
#include "fields.hpp"

namespace nsa {

using fields::put;
using fields::put_or_null;
using fields::put_text;
using fields::read;
using fields::require;

void to_json(Json& j, const Evidence& v) {
  j = Json::object();
  put(j, "runner_up", v.runner_up);
  put(j, "median_ratio", v.median_ratio);
  put(j, "ratio_low", v.ratio_low);
  put(j, "ratio_high", v.ratio_high);
  put(j, "expected_regret", v.expected_regret);
  put(j, "pairs", v.pairs);
  put(j, "noise_floor", v.noise_floor);
  put(j, "unverified", v.unverified);
  put(j, "run_ids", v.run_ids);
  put(j, "p_better", v.p_better);
  put(j, "from_low", v.from_low);
  put(j, "from_high", v.from_high);
  put(j, "measured_from", v.measured_from);
  put(j, "measured_to", v.measured_to);
  if (v.lengths > 0) put(j, "lengths", v.lengths);
  if (!v.ties.empty()) put(j, "ties", v.ties);
  put_text(j, "why", v.why);
}

void from_json(const Json& j, Evidence& v) {
  fields::require_object(j);
  v = {};
  read(j, "runner_up", v.runner_up);
  read(j, "median_ratio", v.median_ratio);
  read(j, "ratio_low", v.ratio_low);
  read(j, "ratio_high", v.ratio_high);
  read(j, "expected_regret", v.expected_regret);
  read(j, "pairs", v.pairs);
  read(j, "noise_floor", v.noise_floor);
  read(j, "unverified", v.unverified);
  read(j, "run_ids", v.run_ids);
  read(j, "p_better", v.p_better);
  read(j, "from_low", v.from_low);
  read(j, "from_high", v.from_high);
  read(j, "measured_from", v.measured_from);
  read(j, "measured_to", v.measured_to);
  read(j, "lengths", v.lengths);
  read(j, "ties", v.ties);
  read(j, "why", v.why);
}

static void to_json(Json& j, const ThresholdRange& v) {
  j = Json::object();
  put(j, "from", v.from);
  put(j, "to", v.to);
  put(j, "variant", v.variant);
  put(j, "source_hash", v.source_hash);
  if (v.basis != Basis::measured) put(j, "basis", v.basis);
  put(j, "evidence", v.evidence);
}

static void from_json(const Json& j, ThresholdRange& v) {
  v = {};
  require(j, "from", v.from);
  read(j, "to", v.to);
  require(j, "variant", v.variant);
  require(j, "source_hash", v.source_hash);
  read(j, "basis", v.basis);
  require(j, "evidence", v.evidence);
}

static void to_json(Json& j, const Alignment& v) {
  j = Json::object();
  put(j, "multiple", v.multiple);
  put(j, "ranges", v.ranges);
}

static void from_json(const Json& j, Alignment& v) {
  v = {};
  require(j, "multiple", v.multiple);
  require(j, "ranges", v.ranges);
}

static void to_json(Json& j, const HeldOut& v) {
  j = Json::object();
  put(j, "lengths", v.lengths);
  put(j, "mean_regret", v.mean_regret);
  put(j, "worst_regret", v.worst_regret);
  put(j, "worst_at", v.worst_at);
}

static void from_json(const Json& j, HeldOut& v) {
  v = {};
  require(j, "lengths", v.lengths);
  require(j, "mean_regret", v.mean_regret);
  require(j, "worst_regret", v.worst_regret);
  require(j, "worst_at", v.worst_at);
}

static void to_json(Json& j, const Decision& v) {
  j = Json::object();
  put(j, "stages", v.stages);
  put(j, "axis", v.axis);
  put(j, "unit", v.unit);
  put(j, "launch", v.launch);
  put(j, "timer", v.timer);
  put(j, "ranges", v.ranges);
  put(j, "alignment", v.alignment);
  put(j, "held_out", v.held_out);
}

static void from_json(const Json& j, Decision& v) {
  v = {};
  require(j, "stages", v.stages);
  require(j, "axis", v.axis);
  require(j, "unit", v.unit);
  require(j, "launch", v.launch);
  require(j, "timer", v.timer);
  require(j, "ranges", v.ranges);
  read(j, "alignment", v.alignment);
  read(j, "held_out", v.held_out);
}

void to_json(Json& j, const Reserves& v) {
  j = Json::object();
  put(j, "varlen_reserve_n", v.varlen_reserve_n);
  put(j, "varlen_reserve_k", v.varlen_reserve_k);
  put(j, "sel_pack_reserve_n", v.sel_pack_reserve_n);
  put(j, "sel_pack_reserve_l", v.sel_pack_reserve_l);
}

static void from_json(const Json& j, Reserves& v) {
  fields::require_object(j);
  read(j, "varlen_reserve_n", v.varlen_reserve_n);
  read(j, "varlen_reserve_k", v.varlen_reserve_k);
  read(j, "sel_pack_reserve_n", v.sel_pack_reserve_n);
  read(j, "sel_pack_reserve_l", v.sel_pack_reserve_l);
}

static Json flat_json(const FlatValue& v) {
  return v.length() ? Json(*v.length()) : Json(to_string(v));
}

static FlatValue flat_from(const Json& j) {
  if (j.is_number()) {
    std::int64_t length = 0;
    fields::get(j, length);
    return FlatValue::from(length);
  }
  std::string word;
  fields::get(j, word);
  for (const FlatValue value : {FlatValue(), FlatValue::never(), FlatValue::always()}) {
    if (word == to_string(value)) return value;
  }
  throw fields::FieldError("", fields::shown(word) + " is none of always, never, not_measured");
}

static void read_flat(const Json& j, const char* key, FlatValue& out) {
  const auto at = j.find(key);
  if (at == j.end()) return;
  try {
    out = flat_from(*at);
  } catch (const fields::FieldError& error) {
    throw error.below(key);
  }
}

void to_json(Json& j, const FlatView& v) {
  j = Json::object();
  j["sel_ranges_v2_min_s"] = flat_json(v.sel_ranges_v2_min_s);
  j["fa2_min_len_win"] = flat_json(v.fa2_min_len_win);
  j["fa2_min_len_cmp"] = flat_json(v.fa2_min_len_cmp);
  j["sel_varlen_min_l"] = flat_json(v.sel_varlen_min_l);
  j["sel_triton_min_l"] = flat_json(v.sel_triton_min_l);
  put_or_null(j, "varlen_reserve_n", v.varlen_reserve_n);
  put_or_null(j, "varlen_reserve_k", v.varlen_reserve_k);
  put_or_null(j, "sel_pack_reserve_n", v.sel_pack_reserve_n);
  put_or_null(j, "sel_pack_reserve_l", v.sel_pack_reserve_l);
  j["force_sel_mask"] = flat_json(v.force_sel_mask);
  j["use_sel_pack"] = flat_json(v.use_sel_pack);
  j["use_sel_varlen"] = flat_json(v.use_sel_varlen);
  j["p_cmp_mixed"] = flat_json(v.p_cmp_mixed);
  j["gate_compile"] = flat_json(v.gate_compile);
  j["prefill_batched"] = flat_json(v.prefill_batched);
  put(j, "lossy", v.lossy);
}

static void from_json(const Json& j, FlatView& v) {
  fields::require_object(j);
  v = {};
  read_flat(j, "sel_ranges_v2_min_s", v.sel_ranges_v2_min_s);
  read_flat(j, "fa2_min_len_win", v.fa2_min_len_win);
  read_flat(j, "fa2_min_len_cmp", v.fa2_min_len_cmp);
  read_flat(j, "sel_varlen_min_l", v.sel_varlen_min_l);
  read_flat(j, "sel_triton_min_l", v.sel_triton_min_l);
  read(j, "varlen_reserve_n", v.varlen_reserve_n);
  read(j, "varlen_reserve_k", v.varlen_reserve_k);
  read(j, "sel_pack_reserve_n", v.sel_pack_reserve_n);
  read(j, "sel_pack_reserve_l", v.sel_pack_reserve_l);
  read_flat(j, "force_sel_mask", v.force_sel_mask);
  read_flat(j, "use_sel_pack", v.use_sel_pack);
  read_flat(j, "use_sel_varlen", v.use_sel_varlen);
  read_flat(j, "p_cmp_mixed", v.p_cmp_mixed);
  read_flat(j, "gate_compile", v.gate_compile);
  read_flat(j, "prefill_batched", v.prefill_batched);
  read(j, "lossy", v.lossy);
}

static void to_json(Json& j, const DenseBreakEven& v) {
  j = Json::object();
  put_or_null(j, "from", v.from);
  put(j, "axis", v.axis);
  put(j, "yardstick", v.yardstick);
  put(j, "largest", v.largest);
  put(j, "ratio_at_largest", v.ratio_at_largest);
}

static void from_json(const Json& j, DenseBreakEven& v) {
  fields::require_object(j);
  v = {};
  read(j, "from", v.from);
  require(j, "axis", v.axis);
  require(j, "yardstick", v.yardstick);
  require(j, "largest", v.largest);
  require(j, "ratio_at_largest", v.ratio_at_largest);
}

static void to_json(Json& j, const ClassDecisions& v) {
  j = Json::object();
  put(j, "problem_class", v.problem_class);
  put(j, "decisions", v.decisions);
  put(j, "reserves", v.reserves);
  put(j, "flat", v.flat);
  put(j, "dense_break_even", v.dense_break_even);
}

static void from_json(const Json& j, ClassDecisions& v) {
  v = {};
  require(j, "problem_class", v.problem_class);
  require(j, "decisions", v.decisions);
  require(j, "reserves", v.reserves);
  require(j, "flat", v.flat);
  read(j, "dense_break_even", v.dense_break_even);
}

static void to_json(Json& j, const Validators& v) {
  j = Json::object();
  put_text(j, "device_name", v.device_name);
  put_text(j, "compute_capability", v.compute_capability);
  put_text(j, "multiprocessors", v.multiprocessors);
  put_text(j, "memory_bytes", v.memory_bytes);
  put_text(j, "mig", v.mig);
  put_text(j, "power_limit_w", v.power_limit_w);
  put_text(j, "driver", v.driver);
  put_text(j, "runtime", v.runtime);
  put_text(j, "compiler", v.compiler);
  put_text(j, "measurement_policy", v.measurement_policy);
}

static void from_json(const Json& j, Validators& v) {
  fields::require_object(j);
  v = {};
  read(j, "device_name", v.device_name);
  read(j, "compute_capability", v.compute_capability);
  read(j, "multiprocessors", v.multiprocessors);
  read(j, "memory_bytes", v.memory_bytes);
  read(j, "mig", v.mig);
  read(j, "power_limit_w", v.power_limit_w);
  read(j, "driver", v.driver);
  read(j, "runtime", v.runtime);
  read(j, "compiler", v.compiler);
  read(j, "measurement_policy", v.measurement_policy);
}

void to_json(Json& j, const ThresholdTable& v) {
  j = Json::object();
  put(j, "schema_version", v.schema_version);
  put(j, "executor", v.executor);
  put(j, "created_by", v.created_by);
  put(j, "complete", v.complete);
  put(j, "run_ids", v.run_ids);
  put(j, "device", v.device);
  put(j, "validators", v.validators);
  put(j, "classes", v.classes);
}

void from_json(const Json& j, ThresholdTable& v) {
  v = {};
  require(j, "schema_version", v.schema_version);
  require(j, "executor", v.executor);
  require(j, "created_by", v.created_by);
  require(j, "complete", v.complete);
  require(j, "run_ids", v.run_ids);
  require(j, "device", v.device);
  require(j, "validators", v.validators);
  require(j, "classes", v.classes);
}

}  // namespace nsa
