#include <future>

#include "nsa/probes/probes.hpp"
#include "nsa/reports/tables.hpp"
#include "program.hpp"
#include "sweep/measuring.hpp"

namespace nsa::cli {

void add_devices(Program& program) {
  program.add(
      "devices", "Devices and optional libraries of this machine",
      "  nsatune devices\n  nsatune devices --json | jq '.devices[].id'", [&program] {
        // Opening large libraries takes as long as starting the driver: both at once.
        auto opened = std::async(std::launch::async, libraries_here);
        const auto& one = program.settings.device;
        const std::vector<Device> devices =
            one ? std::vector{probes::require_device(*one)} : probes::devices();
        const std::vector<Capability> libraries = opened.get();
        if (program.settings.json) {
          print_json({{"devices", devices}, {"libraries", libraries}});
        } else {
          print_text(reports::devices_table(devices, libraries, program.settings.style_out()));
        }
        return ExitCode::good;
      });
}

}  // namespace nsa::cli
