#include "nsa/run_tables/scaling.hpp"

#include <fmt/format.h>

#include "nsa/reports/text_table.hpp"

namespace nsa::run_tables {

bool alarms(const ScalingRow& row) noexcept { return row.low && *row.low > kScalingAlarm; }

std::string scaling_table(std::span<const ScalingRow> rows, reports::Style style) {
  using reports::Align;
  reports::TextTable table;
  table.add_column("of");
  table.add_column("variant");
  table.add_column("tokens", Align::right);
  table.add_column("lengths", Align::right);
  table.add_column("slope", Align::right);
  table.add_column("95 %", Align::right);
  table.add_column("");
  std::int64_t alarmed = 0;
  for (const ScalingRow& row : rows) {
    alarmed += alarms(row) ? 1 : 0;
    table.add_row(
        {row.device + ", " + row.subject,
         row.variant,
         fmt::format("{} to {}", row.shortest, row.longest),
         std::to_string(row.lengths),
         row.slope ? fmt::format("{:.3f}", *row.slope) : "-",
         row.slope ? fmt::format("[{:.3f}, {:.3f}]", *row.low, *row.high) : "too few lengths",
         {alarms(row) ? "ALARM" : "", reports::Ink::bad}});
  }
  return table.render(style) +
         fmt::format("time ~ tokens^slope; ALARM: all of the interval is above {}: {} of {}\n",
                     kScalingAlarm, alarmed, rows.size());
}

Json scaling_json(std::span<const ScalingRow> rows) {
  Json list = Json::array();
  for (const ScalingRow& row : rows) {
    list.push_back({{"device", row.device},
                    {"subject", row.subject},
                    {"variant", row.variant},
                    {"axis", row.axis},
                    {"shortest", row.shortest},
                    {"longest", row.longest},
                    {"lengths", row.lengths},
                    {"slope", row.slope ? Json(*row.slope) : Json()},
                    {"interval", row.slope ? Json{*row.low, *row.high} : Json()},
                    {"alarm", alarms(row)}});
  }
  return list;
}

}  // namespace nsa::run_tables
