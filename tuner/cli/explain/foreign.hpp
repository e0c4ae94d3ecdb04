// explain of a file whose decisions are of a foreign executor: its ranges, which our runtime has no
// code for.
#pragma once

#include <optional>
#include <string>

#include "nsa/kernels/routing.hpp"
#include "program.hpp"

namespace nsa::cli {

/// The table that `file` names (in a folder: the one for `device`) if its executor is not ours.
std::optional<LoadedTable> foreign_table(const std::optional<std::string>& file,
                                         const Device& device);
/// Prints what the table says of the problem, on the device of the file. Nothing judged where it
/// decides nothing of the problem's class.
ExitCode explain_foreign(const Settings& settings, const LoadedTable& loaded,
                         const Problem& problem);

}  // namespace nsa::cli
