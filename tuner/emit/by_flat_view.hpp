// What the flat view of a thresholds file settles.
#pragma once

#include "settle.hpp"

namespace nsa::tuner {

/// What `of` says of a project's stages in the users' names. Its flat view was decided from rows,
/// among the paths that the users' program has: where the ranges name winners and runners-up of
/// others, it knows more. Of FlashAttention-2 it does not say which path; `told`, what the ranges
/// tell of the project's paths, does. `stand_ins`: the rows were ours. Empty where the view says
/// nothing at all, as in a file of somebody else's variants.
Known by_flat_view(const Project& project, const ClassDecisions& of, const ClassDecisions& told,
                   const std::vector<VariantTraits>& variants, const Device& device,
                   bool stand_ins);

/// The settlement of emit_from_table(), and the times that its ranges tell.
Settlement settle_table(const Project& project, const ClassDecisions& of, const Device& device,
                        const std::string& executor, const std::vector<VariantTraits>& variants,
                        PathTimes& times, const std::optional<Problem>& longest = {});

}  // namespace nsa::tuner
