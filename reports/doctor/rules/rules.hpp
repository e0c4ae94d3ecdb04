// The functions of the table, by the evidence that they look at.
#pragma once

#include <vector>

#include "nsa/doctor/rule.hpp"

namespace nsa::doctor {

using Founds = std::vector<Found>;

// Switches of the selected branch, of prefill and of FA-2: env_paths.cpp.
Founds masked_switch_off(const RunEvidence& evidence);
Founds slow_switches(const RunEvidence& evidence);
Founds prefill_not_batched(const RunEvidence& evidence);
Founds range_converter(const RunEvidence& evidence);
Founds fa2_against_measurement(const RunEvidence& evidence);
Founds fa2_not_measured(const RunEvidence& evidence);
// Out of reach, debugging, allocator, distributed: env_settings.cpp.
Founds launch_blocking(const RunEvidence& evidence);
Founds debug_switches(const RunEvidence& evidence);
Founds aux_statistics(const RunEvidence& evidence);
Founds allocator(const RunEvidence& evidence);
Founds distributed(const RunEvidence& evidence);
Founds checkpointing_switch(const RunEvidence& evidence);
Founds flash_switched_off(const RunEvidence& evidence);
Founds library_switches(const RunEvidence& evidence);
Founds triton_out_of_reach(const RunEvidence& evidence);
// Names and values: env_names.cpp.
Founds unknown_name(const RunEvidence& evidence);
Founds bad_value(const RunEvidence& evidence);
Founds unread_name(const RunEvidence& evidence);
// config.cpp
Founds config_checkpointing(const RunEvidence& evidence);
Founds config_precision(const RunEvidence& evidence);
Founds config_batch_small(const RunEvidence& evidence);
Founds config_batch_large(const RunEvidence& evidence);
Founds config_fa2_believed(const RunEvidence& evidence);
Founds config_unread_key(const RunEvidence& evidence);
// log.cpp
Founds log_slow_path(const RunEvidence& evidence);
Founds log_selection_path(const RunEvidence& evidence);
Founds log_fa2_unused(const RunEvidence& evidence);
Founds log_sdpa_fallback(const RunEvidence& evidence);
Founds log_crash(const RunEvidence& evidence);
Founds log_out_of_memory(const RunEvidence& evidence);
Founds log_heads_copied(const RunEvidence& evidence);
Founds log_malformed_batch(const RunEvidence& evidence);
Founds log_checkpointing(const RunEvidence& evidence);
Founds log_debugging(const RunEvidence& evidence);
// log_figures.cpp
Founds log_fragmentation(const RunEvidence& evidence);
Founds log_hang(const RunEvidence& evidence);
Founds log_collapsed(const RunEvidence& evidence);
Founds log_below_target(const RunEvidence& evidence);
Founds log_idle_gpu(const RunEvidence& evidence);
// heartbeat.cpp
Founds heartbeat_collapsed(const RunEvidence& evidence);
Founds heartbeat_below_target(const RunEvidence& evidence);
Founds heartbeat_slow_path(const RunEvidence& evidence);
Founds heartbeat_fallbacks(const RunEvidence& evidence);
Founds heartbeat_fa2(const RunEvidence& evidence);
Founds heartbeat_aux_statistics(const RunEvidence& evidence);
Founds heartbeat_fragmentation(const RunEvidence& evidence);
Founds heartbeat_data(const RunEvidence& evidence);
Founds heartbeat_growth(const RunEvidence& evidence);
Founds heartbeat_silence(const RunEvidence& evidence);
// trace_time.cpp
Founds trace_idle_gpu(const RunEvidence& evidence);
Founds trace_data_loading(const RunEvidence& evidence);
Founds trace_host_syncs(const RunEvidence& evidence);
Founds trace_host_loop(const RunEvidence& evidence);
Founds trace_launch_bound(const RunEvidence& evidence);
Founds trace_launch_blocking(const RunEvidence& evidence);
Founds trace_exposed_comm(const RunEvidence& evidence);
// trace_work.cpp
Founds trace_host_copies(const RunEvidence& evidence);
Founds trace_sdpa_fallback(const RunEvidence& evidence);
Founds trace_fa2_absent(const RunEvidence& evidence);
Founds trace_range_conversion(const RunEvidence& evidence);
Founds trace_heads_copied(const RunEvidence& evidence);
Founds trace_checkpointing(const RunEvidence& evidence);
Founds trace_fragmentation(const RunEvidence& evidence);
Founds trace_allocations(const RunEvidence& evidence);
// command.cpp
Founds command_idle_gpu(const RunEvidence& evidence);
Founds command_host_bound(const RunEvidence& evidence);
Founds command_memory_unused(const RunEvidence& evidence);
Founds command_no_gpu(const RunEvidence& evidence);
Founds command_silent(const RunEvidence& evidence);

}  // namespace nsa::doctor
