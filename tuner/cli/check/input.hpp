// What `check` judges and how, as `report` does too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "history/source.hpp"

namespace nsa::cli {

/// InputError where the file of -o is one of the inputs that are given.
void refuse_input_as_output(const std::string& out,
                            const std::vector<std::optional<std::string>>& inputs);

struct CheckInput {
  NightlySource source;
  std::optional<std::string> baseline, acks, today;
  std::int64_t window = 14;  // nights
};

/// The flags of the source, --window, --baseline, --acks and --today.
void declare_check_input(CLI::App& sub, CheckInput& input);
/// The options of judge() that the flags say; an ack that names no series is said on stderr.
nightly::Options check_options(const Settings& settings, const CheckInput& input,
                               const NightlyHistory& history);

}  // namespace nsa::cli
