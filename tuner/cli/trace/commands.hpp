// The subcommands of `nsatune trace`, a file each.
#pragma once

#include <string>

#include "program.hpp"

namespace nsa::cli {

void add_trace_summary(Program& program, CLI::App& trace);
void add_trace_convert(Program& program, CLI::App& trace);
void add_trace_record(Program& program, CLI::App& trace);
void add_trace_diff(Program& program, CLI::App& trace);

/// How wide tables may be, with their names of kernels.
std::size_t table_columns();

/// What a trace file may be, for --help.
inline constexpr const char* kTraceFiles =
    "Chrome trace JSON (PyTorch profiler or ours; plain or gzip), an SQLite export of Nsight "
    "Systems, or a spool of `trace record --keep-spools`";

}  // namespace nsa::cli
