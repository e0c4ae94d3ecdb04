#include <fmt/format.h>

#include <future>
#include <memory>

#include "link_targets.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/reports/tables.hpp"
#include "nsa/reports/text_table.hpp"
#include "program.hpp"
#include "sweep/measuring.hpp"

namespace nsa::cli {
namespace {

struct DevicesOptions {
  std::string targets_file;
  bool print_targets = false;
};

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const std::optional<ShareBand>& band) {
  return band ? Json{band->low, band->high} : Json(nullptr);
}

Json json_of(const probes::DeviceLinks& links, const LinkTargets& targets) {
  return {{"device", links.device},
          {"pcie_generation", json_of(links.pcie_generation)},
          {"pcie_width", json_of(links.pcie_width)},
          {"pcie_max_generation", json_of(links.pcie_max_generation)},
          {"pcie_max_width", json_of(links.pcie_max_width)},
          {"pcie_expected_gb_per_s", json_of(pcie_band(links, targets))},
          {"nvlinks", json_of(links.nvlinks)},
          {"nvlink_gb_per_s", json_of(links.nvlink_gb_per_s)},
          {"nvlink_expected_gb_per_s", json_of(nvlink_band(links, targets))},
          {"numa_node", json_of(links.numa_node)}};
}

/// "5.0 x16 of 5.0 x16".
std::string pcie_text(const probes::DeviceLinks& links) {
  const auto one = [](std::optional<int> generation, std::optional<int> width) {
    return fmt::format("{} x{}", generation ? fmt::format("{}.0", *generation) : "?",
                       width ? std::to_string(*width) : "?");
  };
  if (!links.pcie_generation && !links.pcie_width) return "-";
  return one(links.pcie_generation, links.pcie_width) + " of " +
         one(links.pcie_max_generation, links.pcie_max_width);
}

std::string nvlink_text(const probes::DeviceLinks& links) {
  if (!links.nvlinks) return "-";
  if (*links.nvlinks == 0) return "none";
  return links.nvlink_gb_per_s
             ? fmt::format("{}, {:.0f} GB/s", *links.nvlinks, *links.nvlink_gb_per_s)
             : std::to_string(*links.nvlinks);
}

std::string band_text(const std::optional<ShareBand>& band) {
  return band ? fmt::format("{:.0f} to {:.0f} GB/s", band->low, band->high) : "-";
}

std::string links_table(const std::vector<probes::DeviceLinks>& all, const LinkTargets& targets,
                        reports::Style style) {
  reports::TextTable table;
  for (const char* header : {"id", "PCIe now of possible", "copies expected", "NVLinks",
                             "collectives expected", "NUMA node"})
    table.add_column(header);
  for (const probes::DeviceLinks& links : all)
    table.add_row({links.device, pcie_text(links), band_text(pcie_band(links, targets)),
                   nvlink_text(links), band_text(nvlink_band(links, targets)),
                   links.numa_node ? std::to_string(*links.numa_node) : "-"});
  return all.empty() ? std::string() : "\n" + table.render(style);
}

ExitCode print_devices(const Settings& settings, const DevicesOptions& options) {
  const LinkTargets targets =
      options.targets_file.empty() ? LinkTargets{} : read_link_targets(options.targets_file);
  if (options.print_targets) {
    print_text(link_targets_text(targets));
    return ExitCode::good;
  }
  // Opening large libraries takes as long as starting the driver: both at once.
  auto opened = std::async(std::launch::async, libraries_here);
  const auto& one = settings.device;
  const std::vector<Device> devices =
      one ? std::vector{probes::require_device(*one)} : probes::devices();
  const std::vector<Capability> libraries = opened.get();
  const std::vector<probes::DeviceLinks> links = probes::device_links(devices);
  if (settings.json) {
    Json of_links = Json::array();
    for (const probes::DeviceLinks& of_gpu : links) of_links.push_back(json_of(of_gpu, targets));
    print_json({{"devices", devices}, {"libraries", libraries}, {"links", std::move(of_links)}});
  } else {
    const reports::Style style = settings.style_out();
    print_text(reports::devices_table(devices, libraries, style) +
               links_table(links, targets, style));
  }
  return ExitCode::good;
}

}  // namespace

void add_devices(Program& program) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* sub =
      program.add("devices", "Devices, their links, and optional libraries",
                  "  nsatune devices\n"
                  "  nsatune devices --json | jq '.devices[].id'\n"
                  "  nsatune devices --print-link-targets > links.json\n"
                  "  nsatune devices --link-targets links.json",
                  [&program, options] { return print_devices(program.settings, *options); });
  sub->add_option("--link-targets", options->targets_file,
                  "Which shares of PCIe's and NVLink's rates are expected (JSON)");
  sub->add_flag("--print-link-targets", options->print_targets,
                "Print these shares as a file to edit");
}

}  // namespace nsa::cli
