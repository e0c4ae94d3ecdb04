// Which device a command uses where none was named.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/device.hpp"

namespace nsa::cli {

struct Settings;

struct DeviceChoice {
  Device device;
  std::string note;  // for stderr; empty where there was nothing to choose
};

/// The first GPU of `devices`, else the CPU, which is their first.
DeviceChoice choose_device(const std::vector<Device>& devices);
/// That of --device, else of NSATUNE_DEVICE, else (or where they say `auto`) the choice of the
/// machine's, of which a note goes to stderr. EnvironmentError when a named one is not here.
Device chosen_device(const Settings& settings);

}  // namespace nsa::cli
