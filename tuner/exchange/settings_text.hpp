// What a row measured, apart from its variant, as one text without commas and spaces.
#pragma once

#include <string>

#include "nsa/schemas/measurement.hpp"

namespace nsa::exchange {

/// "direction=forward;phase=prefill;seq_lens=2048;...;launch=eager;timer=events;cold=1"
std::string settings_text(const Measurement& row);
/// The reverse: problem, launch, timer and cold of `row`. InputError on anything else.
void set_settings(Measurement& row, const std::string& text, const std::string& where);

}  // namespace nsa::exchange
