// Fields of what launches were seen to do: their kernels, hardware counters, what they selected.
#pragma once

#include "nsa/schemas/fields/problem.hpp"
#include "nsa/schemas/launch_counters.hpp"
#include "nsa/schemas/launch_subject.hpp"
#include "nsa/schemas/launch_trace.hpp"

namespace nsa::fields {

template <>
inline constexpr auto kFields<LaunchSubject> =
    std::tuple{required("id", &LaunchSubject::id),
               required("run_id", &LaunchSubject::run_id),
               required("executor", &LaunchSubject::executor),
               required("placement", &LaunchSubject::placement),
               required("problem", &LaunchSubject::problem),
               required("variant", &LaunchSubject::variant),
               required("source_hash", &LaunchSubject::source_hash),
               required("launch", &LaunchSubject::launch)};

template <>
inline constexpr auto kFields<TracedKernel> =
    std::tuple{required("name", &TracedKernel::name), required("count", &TracedKernel::count),
               required("total_ns", &TracedKernel::total_ns)};

template <>
inline constexpr auto kFields<LaunchTrace> =
    std::tuple{required("kernels", &LaunchTrace::kernels),
               required("launches", &LaunchTrace::launches),
               required("host_waits", &LaunchTrace::host_waits),
               required("allocations", &LaunchTrace::allocations),
               optional("host_to_device_bytes", &LaunchTrace::host_to_device_bytes),
               optional("device_to_host_bytes", &LaunchTrace::device_to_host_bytes),
               optional("device_to_device_bytes", &LaunchTrace::device_to_device_bytes),
               optional("memset_bytes", &LaunchTrace::memset_bytes),
               optional("busy_ns", &LaunchTrace::busy_ns),
               optional("span_ns", &LaunchTrace::span_ns),
               optional("dropped", &LaunchTrace::dropped),
               optional("cupti_ns", &LaunchTrace::cupti_ns),
               optional("events_ns", &LaunchTrace::events_ns),
               unless_default("note", &LaunchTrace::note)};

template <>
inline constexpr auto kFields<LaunchTraceRow> = std::tuple_cat(
    kFields<LaunchSubject>, std::tuple{required("traced_at", &LaunchTraceRow::traced_at),
                                       required("trace", &LaunchTraceRow::trace)});

template <>
inline constexpr auto kFields<CounterMetric> =
    std::tuple{required("name", &CounterMetric::name), required("value", &CounterMetric::value)};

template <>
inline constexpr auto kFields<LaunchCounters> =
    std::tuple{unless_default("chip", &LaunchCounters::chip),
               optional("dram_share", &LaunchCounters::dram_share),
               optional("l2_share", &LaunchCounters::l2_share),
               optional("tensor_share", &LaunchCounters::tensor_share),
               optional("dram_read_bytes", &LaunchCounters::dram_read_bytes),
               optional("dram_write_bytes", &LaunchCounters::dram_write_bytes),
               optional("busy_ns", &LaunchCounters::busy_ns),
               optional("passes", &LaunchCounters::passes),
               optional("metrics", &LaunchCounters::metrics),
               unless_default("note", &LaunchCounters::note)};

template <>
inline constexpr auto kFields<LaunchCountersRow> = std::tuple_cat(
    kFields<LaunchSubject>, std::tuple{required("cold", &LaunchCountersRow::cold),
                                       required("outcome", &LaunchCountersRow::outcome),
                                       required("reason", &LaunchCountersRow::reason),
                                       required("counted_at", &LaunchCountersRow::counted_at),
                                       required("counters", &LaunchCountersRow::counters)});

template <>
inline constexpr auto kFields<Agreement> =
    std::tuple{required("blocks", &Agreement::blocks), required("same", &Agreement::same)};

template <>
inline constexpr auto kFields<AgreementRow> = std::tuple_cat(
    kFields<LaunchSubject>, std::tuple{required("agreement", &AgreementRow::agreement),
                                       required("checked_at", &AgreementRow::checked_at)});

}  // namespace nsa::fields
