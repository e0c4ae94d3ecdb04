// The router of a run.
#pragma once

#include "nsa/kernels/routing.hpp"
#include "program.hpp"
#include "run/options.hpp"

namespace nsa::cli {

/// Of the device, the flags and what the config says of the users' switches. InputError where the
/// attention that was asked for by name does not run on the device.
Router router_of(const Settings& settings, const Device& device, const RunOptions& options,
                 const RunPlan& plan);

}  // namespace nsa::cli
