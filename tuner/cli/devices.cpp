#include "nsa/probes/probes.hpp"
#include "nsa/reports/tables.hpp"
#include "program.hpp"
#include "sweep/measuring.hpp"

namespace nsa::cli {

void add_devices(Program& program) {
  program.add("devices", "Devices and optional libraries of this machine",
              "  nsatune devices\n  nsatune devices --json | jq '.devices[].id'", [&program] {
                std::vector<Device> devices = probes::devices();
                if (program.settings.device)
                  devices = {probes::require_device(*program.settings.device)};
                const std::vector<Capability> libraries = libraries_here();
                if (program.settings.json) {
                  print_json({{"devices", devices}, {"libraries", libraries}});
                } else {
                  print_text(reports::devices_table(devices, libraries,
                                                    {.color = program.settings.color_out()}));
                }
                return ExitCode::good;
              });
}

}  // namespace nsa::cli
