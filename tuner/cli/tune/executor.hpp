// Whose variants `tune` decides among, and on which device they were measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nsa/schemas/run.hpp"
#include "nsa/schemas/thresholds.hpp"

namespace nsa::cli {

struct ExecutorChoice {
  std::string name;
  std::string note;  // why it was chosen, where nobody asked for it; "" = nothing to say
};
/// `asked`, else ours where it is among those with rows, else the only other one. InputError where
/// several others are, with their names.
ExecutorChoice choose_executor(const std::vector<std::string>& with_rows,
                               const std::optional<std::string>& asked);

/// The device of an executor's rows: for a foreign one what the newest run's worker said of it,
/// which may be less or other than what we read from the device of the same uuid.
Device device_of_rows(const Run& newest, const std::string& executor, const Device& stored);
/// What must hold for decisions of that executor: what is known of the device, and for ours the
/// compiler of this build.
Validators validators_of_rows(const Device& device, const std::string& executor);
/// "" or that the device was simulated.
std::string simulation_note(const Run& newest, const std::string& executor);

}  // namespace nsa::cli
