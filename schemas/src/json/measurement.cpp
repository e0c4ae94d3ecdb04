// JSON of measurements and what they are made of.
#include "fields.hpp"

namespace nsa {

using fields::put;
using fields::read;
using fields::require;

void to_json(Json& j, const Sample& v) {
  j = Json::object();
  put(j, "start_ns", v.start_ns);
  put(j, "device_ns", v.device_ns);
  put(j, "host_ns", v.host_ns);
  put(j, "cycles", v.cycles);
}

void from_json(const Json& j, Sample& v) {
  v = {};
  require(j, "start_ns", v.start_ns);
  require(j, "device_ns", v.device_ns);
  require(j, "host_ns", v.host_ns);
  read(j, "cycles", v.cycles);
}

void to_json(Json& j, const ClockReading& v) {
  j = Json::object();
  put(j, "sm_mhz", v.sm_mhz);
  put(j, "memory_mhz", v.memory_mhz);
  put(j, "temperature_c", v.temperature_c);
  put(j, "power_w", v.power_w);
  put(j, "throttle", v.throttle);
}

void from_json(const Json& j, ClockReading& v) {
  fields::require_object(j);
  read(j, "sm_mhz", v.sm_mhz);
  read(j, "memory_mhz", v.memory_mhz);
  read(j, "temperature_c", v.temperature_c);
  read(j, "power_w", v.power_w);
  read(j, "throttle", v.throttle);
}

void to_json(Json& j, const ReserveNeed& v) {
  j = Json::object();
  put(j, "varlen_n", v.varlen_n);
  put(j, "varlen_k", v.varlen_k);
  put(j, "sel_pack_n", v.sel_pack_n);
  put(j, "sel_pack_l", v.sel_pack_l);
}

void from_json(const Json& j, ReserveNeed& v) {
  fields::require_object(j);
  v = {};
  read(j, "varlen_n", v.varlen_n);
  read(j, "varlen_k", v.varlen_k);
  read(j, "sel_pack_n", v.sel_pack_n);
  read(j, "sel_pack_l", v.sel_pack_l);
}

void to_json(Json& j, const Cost& v) {
  j = Json::object();
  put(j, "flop", v.flop);
  put(j, "bytes", v.bytes);
}

void from_json(const Json& j, Cost& v) {
  fields::require_object(j);
  v = {};
  read(j, "flop", v.flop);
  read(j, "bytes", v.bytes);
}

void to_json(Json& j, const Measurement& v) {
  j = Json::object();
  put(j, "id", v.id);
  put(j, "run_id", v.run_id);
  put(j, "job_key", v.job_key);
  put(j, "executor", v.executor);
  put(j, "placement", v.placement);
  put(j, "problem", v.problem);
  put(j, "variant", v.variant);
  put(j, "source_hash", v.source_hash);
  put(j, "process", v.process);
  put(j, "round", v.round);
  put(j, "position", v.position);
  put(j, "pair_id", v.pair_id);
  put(j, "control", v.control);
  put(j, "held_out", v.held_out);
  put(j, "launch", v.launch);
  put(j, "timer", v.timer);
  put(j, "cold", v.cold);
  put(j, "outcome", v.outcome);
  put(j, "reason", v.reason);
  fields::put_text(j, "note", v.note);
  put(j, "verification", v.verification);
  fields::put_error(j, "worst_row_error", v.worst_row_error);
  put(j, "first_call_ns", v.first_call_ns);
  put(j, "workspace_bytes", v.workspace_bytes);
  put(j, "grow_events", v.grow_events);
  put(j, "need", v.need);
  put(j, "median_ns", v.median_ns);
  put(j, "mad_ns", v.mad_ns);
  put(j, "samples_n", v.samples_n);
  put(j, "cost", v.cost);
  put(j, "clocks", v.clocks);
  put(j, "measured_at", v.measured_at);
  put(j, "samples", v.samples);
}

void from_json(const Json& j, Measurement& v) {
  v = {};
  require(j, "id", v.id);
  require(j, "run_id", v.run_id);
  require(j, "job_key", v.job_key);
  require(j, "executor", v.executor);
  require(j, "placement", v.placement);
  require(j, "problem", v.problem);
  require(j, "variant", v.variant);
  require(j, "source_hash", v.source_hash);
  require(j, "process", v.process);
  require(j, "round", v.round);
  require(j, "position", v.position);
  require(j, "pair_id", v.pair_id);
  require(j, "control", v.control);
  read(j, "held_out", v.held_out);
  require(j, "launch", v.launch);
  require(j, "timer", v.timer);
  require(j, "cold", v.cold);
  require(j, "outcome", v.outcome);
  require(j, "reason", v.reason);
  read(j, "note", v.note);
  require(j, "verification", v.verification);
  read(j, "worst_row_error", v.worst_row_error);
  read(j, "first_call_ns", v.first_call_ns);
  read(j, "workspace_bytes", v.workspace_bytes);
  read(j, "grow_events", v.grow_events);
  read(j, "need", v.need);
  read(j, "median_ns", v.median_ns);
  read(j, "mad_ns", v.mad_ns);
  require(j, "samples_n", v.samples_n);
  require(j, "cost", v.cost);
  require(j, "clocks", v.clocks);
  require(j, "measured_at", v.measured_at);
  read(j, "samples", v.samples);
}

}  // namespace nsa
