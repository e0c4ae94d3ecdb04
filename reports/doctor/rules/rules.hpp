// The functions of the table, by the evidence that they look at.
#pragma once

#include <vector>

#include "nsa/doctor/rule.hpp"

namespace nsa::doctor {

using Founds = std::vector<Found>;

// Switches of the selected branch, of prefill and of FA-2: env_paths.cpp.
Founds masked_switch_off(const Evidence& evidence);
Founds slow_switches(const Evidence& evidence);
Founds prefill_not_batched(const Evidence& evidence);
Founds range_converter(const Evidence& evidence);
Founds fa2_against_measurement(const Evidence& evidence);
Founds fa2_not_measured(const Evidence& evidence);
// Out of reach, debugging, allocator, distributed: env_settings.cpp.
Founds launch_blocking(const Evidence& evidence);
Founds debug_switches(const Evidence& evidence);
Founds aux_statistics(const Evidence& evidence);
Founds allocator(const Evidence& evidence);
Founds distributed(const Evidence& evidence);
Founds checkpointing_switch(const Evidence& evidence);
Founds flash_switched_off(const Evidence& evidence);
Founds library_switches(const Evidence& evidence);
Founds triton_out_of_reach(const Evidence& evidence);
// Names and values: env_names.cpp.
Founds unknown_name(const Evidence& evidence);
Founds bad_value(const Evidence& evidence);
Founds unread_name(const Evidence& evidence);
// config.cpp
Founds config_checkpointing(const Evidence& evidence);
Founds config_precision(const Evidence& evidence);
Founds config_batch_small(const Evidence& evidence);
Founds config_batch_large(const Evidence& evidence);
Founds config_fa2_believed(const Evidence& evidence);
Founds config_unread_key(const Evidence& evidence);
// log.cpp
Founds log_slow_path(const Evidence& evidence);
Founds log_selection_path(const Evidence& evidence);
Founds log_fa2_unused(const Evidence& evidence);
Founds log_sdpa_fallback(const Evidence& evidence);
Founds log_crash(const Evidence& evidence);
Founds log_out_of_memory(const Evidence& evidence);
Founds log_heads_copied(const Evidence& evidence);
Founds log_malformed_batch(const Evidence& evidence);
Founds log_checkpointing(const Evidence& evidence);
Founds log_debugging(const Evidence& evidence);
// log_figures.cpp
Founds log_fragmentation(const Evidence& evidence);
Founds log_hang(const Evidence& evidence);
Founds log_collapsed(const Evidence& evidence);
Founds log_below_target(const Evidence& evidence);
Founds log_idle_gpu(const Evidence& evidence);
// heartbeat.cpp
Founds heartbeat_collapsed(const Evidence& evidence);
Founds heartbeat_below_target(const Evidence& evidence);
Founds heartbeat_slow_path(const Evidence& evidence);
Founds heartbeat_fallbacks(const Evidence& evidence);
Founds heartbeat_fa2(const Evidence& evidence);
Founds heartbeat_aux_statistics(const Evidence& evidence);
Founds heartbeat_fragmentation(const Evidence& evidence);
Founds heartbeat_data(const Evidence& evidence);
Founds heartbeat_growth(const Evidence& evidence);
Founds heartbeat_silence(const Evidence& evidence);
// trace_time.cpp
Founds trace_idle_gpu(const Evidence& evidence);
Founds trace_data_loading(const Evidence& evidence);
Founds trace_host_syncs(const Evidence& evidence);
Founds trace_host_loop(const Evidence& evidence);
Founds trace_launch_bound(const Evidence& evidence);
Founds trace_launch_blocking(const Evidence& evidence);
Founds trace_exposed_comm(const Evidence& evidence);
// trace_work.cpp
Founds trace_host_copies(const Evidence& evidence);
Founds trace_sdpa_fallback(const Evidence& evidence);
Founds trace_fa2_absent(const Evidence& evidence);
Founds trace_range_conversion(const Evidence& evidence);
Founds trace_heads_copied(const Evidence& evidence);
Founds trace_checkpointing(const Evidence& evidence);
Founds trace_fragmentation(const Evidence& evidence);
Founds trace_allocations(const Evidence& evidence);
// command.cpp
Founds command_idle_gpu(const Evidence& evidence);
Founds command_host_bound(const Evidence& evidence);
Founds command_memory_unused(const Evidence& evidence);
Founds command_no_gpu(const Evidence& evidence);
Founds command_silent(const Evidence& evidence);

}  // namespace nsa::doctor
