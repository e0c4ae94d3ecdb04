// One line for people: why a series has its state.
#pragma once

#include <string>

#include "series/examine.hpp"

namespace nsa::nightly {

/// @param found  what the state is said of, or null
std::string reason_of(State state, const Found* found, const Examined& examined,
                      const Options& options);

std::string absence_reason(State state, const Examined& examined);

std::string warming_up_reason(std::int64_t nights, std::int64_t warm_up);

}  // namespace nsa::nightly
