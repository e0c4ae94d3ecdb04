// Which NSA stage, or which class of work beside it, a range is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nsa/trace/range_names.hpp"

namespace nsa::trace {

inline constexpr std::string_view kCommunication = "communication";

/// Our names, those of the PyTorch implementation (project_rope for "projections+rope"), and
/// backward, optimizer and communication as PyTorch annotates them. A range over several stages is
/// those names joined by '+'.
std::optional<std::string_view> stage_of_range(std::string_view range);
/// Of what that returns: a stage of an attention layer, or several, but not a whole layer or model.
bool is_stage_of_layer(std::string_view stage);
/// Whether a range is the wait for a batch of data.
bool loads_data(std::string_view range);
/// What an annotation that is no stage calls the work in it: its name without numbers that count.
std::string stage_of_annotation(std::string_view range);
/// "score" for its parts pcmp, pslc and topk.
std::optional<std::string_view> parent_of_stage(std::string_view stage);

}  // namespace nsa::trace
