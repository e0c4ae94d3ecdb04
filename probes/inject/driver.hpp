// The few calls of the driver that the injected tracer makes, from the library that loaded it.
#pragma once

#include <string>

namespace nsa::inject {

/// Whether the driver's library can be loaded here.
bool has_driver();
/// Waits for all work of the devices that this process uses, on any thread; nothing where that is
/// not possible (the driver is gone, a stream is captured).
void wait_for_devices();
/// "13.0", or empty.
std::string driver_cuda_version();

}  // namespace nsa::inject
