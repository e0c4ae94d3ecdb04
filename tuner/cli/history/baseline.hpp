// What --baseline names.
#pragma once

#include <string>

#include "history.hpp"

namespace nsa::cli {

/// How many nights there are after the one that `name` names, 1 at least: by its label, its
/// run (id or first digits), its time ("2026-11-23" names any time of that day) or its commit; of
/// several the last. A label goes before the rest. InputError where no night has it.
std::int64_t nights_after(const NightlyHistory& history, const std::string& name);

}  // namespace nsa::cli
