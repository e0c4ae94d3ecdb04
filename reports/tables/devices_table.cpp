#include <fmt/format.h>

#include "nsa/reports/tables.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"

namespace nsa::reports {
namespace {

template <class T, class Format>
std::string if_read(const std::optional<T>& value, const Format& format) {
  return value ? format(*value) : std::string("-");
}

std::string capability_text(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

TextTable device_rows(std::span<const Device> devices) {
  TextTable table;
  table.add_column("id");
  table.add_column("name");
  table.add_column("cc", Align::right);
  table.add_column("SMs/cores", Align::right);
  table.add_column("memory", Align::right);
  table.add_column("clock", Align::right);
  table.add_column("isa");
  table.add_column("driver");
  const auto number = [](int value) { return std::to_string(value); };
  const auto clock = [](double mhz) { return fmt::format("{:.0f} MHz", mhz); };
  for (const Device& d : devices) {
    table.add_row({{d.id, Ink::bold},
                   d.name,
                   if_read(d.compute_capability, capability_text),
                   if_read(d.multiprocessors, number),
                   if_read(d.memory_bytes, format_bytes),
                   if_read(d.max_clock_mhz, clock),
                   d.isa.empty() ? "-" : d.isa,
                   d.driver.empty() ? "-" : d.driver});
  }
  return table;
}

TextTable library_rows(std::span<const Capability> libraries) {
  TextTable table;
  table.add_column("library");
  table.add_column("usable");
  table.add_column("version or reason");
  for (const Capability& c : libraries) {
    table.add_row({c.library,
                   {c.usable ? "yes" : "no", c.usable ? Ink::good : Ink::warn},
                   c.usable ? c.version : c.reason});
  }
  return table;
}

}  // namespace

std::string devices_table(std::span<const Device> devices, std::span<const Capability> libraries,
                          Style style) {
  std::string text = device_rows(devices).render(style);
  if (!libraries.empty()) text += "\n" + library_rows(libraries).render(style);
  return text;
}

}  // namespace nsa::reports
