// Fields of measurements and what they are made of.
#pragma once

#include "nsa/schemas/fields/problem.hpp"
#include "nsa/schemas/measurement.hpp"

namespace nsa::fields {

template <>
inline constexpr auto kFields<Sample> =
    std::tuple{required("start_ns", &Sample::start_ns), required("device_ns", &Sample::device_ns),
               required("host_ns", &Sample::host_ns), optional("cycles", &Sample::cycles)};

template <>
inline constexpr auto kFields<ClockReading> = std::tuple{
    optional("sm_mhz", &ClockReading::sm_mhz), optional("memory_mhz", &ClockReading::memory_mhz),
    optional("temperature_c", &ClockReading::temperature_c),
    optional("power_w", &ClockReading::power_w), optional("throttle", &ClockReading::throttle)};

template <>
inline constexpr auto kFields<ReserveNeed> = std::tuple{
    optional("varlen_n", &ReserveNeed::varlen_n), optional("varlen_k", &ReserveNeed::varlen_k),
    optional("sel_pack_n", &ReserveNeed::sel_pack_n),
    optional("sel_pack_l", &ReserveNeed::sel_pack_l)};

template <>
inline constexpr auto kFields<Cost> =
    std::tuple{optional("flop", &Cost::flop), optional("bytes", &Cost::bytes)};

template <>
inline constexpr auto kFields<Measurement> =
    std::tuple{required("id", &Measurement::id),
               required("run_id", &Measurement::run_id),
               required("job_key", &Measurement::job_key),
               required("executor", &Measurement::executor),
               required("placement", &Measurement::placement),
               required("problem", &Measurement::problem),
               required("variant", &Measurement::variant),
               required("source_hash", &Measurement::source_hash),
               required("process", &Measurement::process),
               required("round", &Measurement::round),
               required("position", &Measurement::position),
               required("pair_id", &Measurement::pair_id),
               required("control", &Measurement::control),
               optional("held_out", &Measurement::held_out),
               required("launch", &Measurement::launch),
               required("timer", &Measurement::timer),
               required("cold", &Measurement::cold),
               required("outcome", &Measurement::outcome),
               required("reason", &Measurement::reason),
               unless_default("note", &Measurement::note),
               required("verification", &Measurement::verification),
               error("worst_row_error", &Measurement::worst_row_error),
               optional("first_call_ns", &Measurement::first_call_ns),
               optional("workspace_bytes", &Measurement::workspace_bytes),
               optional("grow_events", &Measurement::grow_events),
               optional("need", &Measurement::need),
               optional("median_ns", &Measurement::median_ns),
               optional("mad_ns", &Measurement::mad_ns),
               required("samples_n", &Measurement::samples_n),
               required("cost", &Measurement::cost),
               required("clocks", &Measurement::clocks),
               required("measured_at", &Measurement::measured_at),
               optional("samples", &Measurement::samples)};

}  // namespace nsa::fields
