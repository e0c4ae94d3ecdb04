#include "nsa/run_tables/eta.hpp"

#include <fmt/format.h>

#include "nsa/reports/text_table.hpp"
#include "nsa/run_tables/tables.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa::run_tables {
namespace {

Eta eta_of(double step_s, const EtaPlan& plan) {
  Eta eta;
  eta.hours = step_s * static_cast<double>(plan.steps) / 3600;
  if (plan.price_per_device_hour)
    eta.cost = *eta.hours * *plan.price_per_device_hour * static_cast<double>(plan.devices);
  return eta;
}

Eta forward_eta(const Cell& cell, const EtaPlan& plan) {
  const auto step = step_ns(cell);
  Eta eta = step ? eta_of(step->value * 1e-9, plan) : Eta{};
  eta.label = cell.asked.label;
  eta.setting = setting_text(cell.asked);
  eta.direction = "forward";
  eta.reason = step ? "" : reason_text(cell);
  if (!step) return eta;
  eta.forward = *eta.hours <= plan.limit_hours ? Go::go : Go::no_go;
  if (eta.forward == Go::no_go) eta.training = Go::no_go;
  return eta;
}

std::string hours_text(const std::optional<double>& hours) {
  if (!hours) return "-";
  return *hours < 72 ? fmt::format("{:.3g} h", *hours)
                     : fmt::format("{} h ({:.3g} days)", grouped(*hours), *hours / 24);
}

std::string cost_text(const std::optional<double>& cost) {
  return cost ? fmt::format("{:.2f}", *cost) : "-";
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

const char* to_string(Go value) noexcept {
  switch (value) {
    case Go::go:
      return "go";
    case Go::no_go:
      return "no_go";
    case Go::not_measured:
      return "not_measured";
  }
  return "not_measured";
}

std::vector<Eta> etas_of(std::span<const Cell> cells, const EtaPlan& plan) {
  std::vector<Eta> etas;
  for (const Cell& cell : cells) {
    Eta eta = forward_eta(cell, plan);
    if (!etas.empty() && eta.hours && etas.front().hours) {
      eta.extra_hours = *eta.hours - *etas.front().hours;
      if (eta.cost) eta.extra_cost = *eta.cost - *etas.front().cost;
    }
    etas.push_back(std::move(eta));
  }
  return etas;
}

Eta eta_of_training(double tokens_per_s, std::int64_t tokens_per_step, const EtaPlan& plan) {
  Eta eta = eta_of(static_cast<double>(tokens_per_step) / tokens_per_s, plan);
  eta.label = fmt::format("{} tok/s", grouped(tokens_per_s));
  eta.direction = "training";
  eta.training = *eta.hours <= plan.limit_hours ? Go::go : Go::no_go;
  return eta;
}

std::string eta_table(std::span<const Eta> etas, const EtaPlan& plan, reports::Style style) {
  using reports::Align;
  reports::TextTable table;
  table.add_column("");
  table.add_column("direction");
  table.add_column("time", Align::right);
  table.add_column("cost", Align::right);
  table.add_column("more than the first", Align::right);
  table.add_column("costs more", Align::right);
  for (const char* name : {"forward", "training", "environment"}) table.add_column(name);
  for (const Eta& eta : etas) {
    table.add_row({eta.label, eta.direction, hours_text(eta.hours), cost_text(eta.cost),
                   hours_text(eta.extra_hours), cost_text(eta.extra_cost), to_string(eta.forward),
                   to_string(eta.training), eta.reason.empty() ? eta.setting : eta.reason});
  }
  std::string head = fmt::format("{} steps, go up to {:g} h",
                                 grouped(static_cast<double>(plan.steps)), plan.limit_hours);
  if (plan.price_per_device_hour)
    head += fmt::format(", {} at {:g} an hour each", counted(plan.devices, "device"),
                        *plan.price_per_device_hour);
  return head + "\n" + table.render(style) +
         "A training step holds a forward pass: its hours are a lower bound, and a no_go of the "
         "one is a no_go of the other.\n";
}

Json eta_json(std::span<const Eta> etas, const EtaPlan& plan) {
  Json list = Json::array();
  for (const Eta& eta : etas) {
    list.push_back({{"label", eta.label},
                    {"setting", eta.setting},
                    {"direction", eta.direction},
                    {"hours", optional_json(eta.hours)},
                    {"cost", optional_json(eta.cost)},
                    {"extra_hours", optional_json(eta.extra_hours)},
                    {"extra_cost", optional_json(eta.extra_cost)},
                    {"forward", to_string(eta.forward)},
                    {"training", to_string(eta.training)},
                    {"reason", eta.reason}});
  }
  return {{"steps", plan.steps},
          {"limit_hours", plan.limit_hours},
          {"price_per_device_hour", optional_json(plan.price_per_device_hour)},
          {"devices", plan.devices},
          {"settings", list}};
}

}  // namespace nsa::run_tables
