#include "nsa/reports/tables.hpp"
#include "nsa/reports/text_table.hpp"

namespace nsa::reports {

std::string libraries_text(std::span<const Capability> libraries) {
  std::string usable, missing;
  for (const Capability& c : libraries) {
    std::string& list = c.usable ? usable : missing;
    list += (list.empty() ? "" : "; ") + printable(c.library);
    if (c.usable && !c.version.empty()) list += " " + shortened(printable(c.version), 80);
    if (!c.usable) list += " (" + shortened(printable(c.reason), 200) + ")";
  }
  std::string text;
  if (!usable.empty()) text += "    libraries: " + usable + "\n";
  if (!missing.empty()) text += "    not usable: " + missing + "\n";
  return text;
}

}  // namespace nsa::reports
