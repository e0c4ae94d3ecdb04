#include <array>

#include "cupti/counters/metrics.hpp"

namespace nsa::probes::cupti {
namespace {

/// Results of CUPTI by number: the header is not in every build.
struct Refusal {
  int code;
  const char* meaning;
};
constexpr std::array kRefusals{
    Refusal{15,  // NOT_INITIALIZED
            "CUPTI could not start its profiler: libnvperf_host.so and libnvperf_target.so of its "
            "own version have to lie beside libcupti.so.13 or in LD_LIBRARY_PATH"},
    Refusal{26,  // HARDWARE_BUSY
            "another tool has this GPU's counters: end it, or pause it (DCGM: dcgmi profpause)"},
    Refusal{33,  // VIRTUALIZED_DEVICE_NOT_SUPPORTED
            "this virtual GPU has no counters"},
    Refusal{35,  // INSUFFICIENT_PRIVILEGES
            "the driver shows the GPU's counters to administrators only: run as root, give the "
            "container --cap-add SYS_ADMIN, or load the driver with "
            "NVreg_RestrictProfilingToAdminUsers=0"},
    Refusal{39,  // MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
            "another tool holds CUPTI, which takes one at a time"},
    Refusal{40,  // VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES
            "the host of this virtual GPU does not give its counters to guests"},
    Refusal{41,  // CONFIDENTIAL_COMPUTING_NOT_SUPPORTED
            "a GPU in confidential computing has no counters"},
    Refusal{43,  // MIG_DEVICE_NOT_SUPPORTED
            "this MIG instance has no counters"},
    Refusal{46,  // INVALID_CHIP_NAME
            "this CUPTI does not know the chip: use one that is newer"},
};

}  // namespace

std::string counter_refusal(int code, const std::string& text, const char* call) {
  std::string line = "hardware counters: ";
  for (const Refusal& refusal : kRefusals)
    if (refusal.code == code) line += std::string(refusal.meaning) + "; ";
  return line + call + ": " + text;
}

}  // namespace nsa::probes::cupti
