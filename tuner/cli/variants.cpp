#include <memory>

#include "nsa/kernels/directions.hpp"
#include "nsa/kernels/vendor.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/reports/tables.hpp"
#include "nsa/reports/variants_text.hpp"
#include "nsa/tuner/plan.hpp"
#include "program.hpp"

namespace nsa::cli {
namespace {

/// available, unsupported or not_built on one device, with the reason.
Json state_on(const Variant& variant, const Device& device) {
  Json state{{"device", device.id}, {"state", "available"}, {"reason", ""}};
  Problem usual;  // the shape of the users' reports, in a dtype that the row has
  usual.direction = variant.direction;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp64}) {
    if (variant.dtypes & dtype_bit(dtype)) usual.dtype = dtype;
  }
  usual.model = {768, 12, 256};
  const Support support = supports(variant, usual, device);
  if (!support.supported) {
    state["state"] = "unsupported";
    state["reason"] = support.reason();
  } else if (!variant.launch) {
    state["state"] = "not_built";
    state["reason"] = why_not_built(variant);
  }
  return state;
}

Json tensors_json(std::span<const TensorSpec> tensors) {
  Json list = Json::array();
  for (const TensorSpec& t : tensors) {
    list.push_back(
        {{"name", t.name}, {"shape", t.shape}, {"dtype", t.integer ? "int32" : "problem"}});
  }
  return list;
}

Json variant_json(const Variant& v, const std::vector<Device>& devices) {
  Json row;
  row["stages"] = Json::array();
  for (const Stage stage : v.stages) row["stages"].push_back(to_string(stage));
  row["name"] = v.name;
  row["backend"] = to_string(v.backend);
  row["direction"] = to_string(v.direction);
  row["deterministic"] = v.deterministic;
  row["role"] = tuner::role_name(v.role);
  row["rank"] = v.rank;
  row["order"] = {{"seq_len", v.order->seq_len}, {"context_len", v.order->context_len}};
  row["summary"] = v.summary;
  row["min_compute_capability"] = v.min_compute_capability;
  row["dtypes"] = Json::array();
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    if (v.dtypes & dtype_bit(dtype)) row["dtypes"].push_back(to_string(dtype));
  }
  row["coordinates"] = Json::object();
  for (const Coordinate& c : v.coordinates) {
    row["coordinates"][std::string(c.name)] =
        std::vector<std::int64_t>(c.values.begin(), c.values.end());
  }
  row["source_hash"] = v.source_hash;
  row["inputs"] = tensors_json(signature_of(v.stages, v.direction).inputs);
  row["outputs"] = tensors_json(signature_of(v.stages, v.direction).outputs);
  row["saves"] = Json::array();
  for (const Stage stage : v.stages) {
    for (const TensorSpec& saved : saved_by(stage))
      if (v.direction == Direction::forward) row["saves"].push_back(saved.name);
  }
  row["ignores"] = Json::array();
  for (const std::string_view name : v.ignores) row["ignores"].push_back(name);
  row["devices"] = Json::array();
  for (const Device& device : devices) {
    if (device.backend == v.backend) row["devices"].push_back(state_on(v, device));
  }
  return row;
}

}  // namespace

void add_variants(Program& program) {
  auto markdown = std::make_shared<bool>(false);
  CLI::App* command =
      program.add("variants", "The one table of variants, and which of them each device can run",
                  "  nsatune variants\n  nsatune variants --json | jq '.variants[] | .name'\n"
                  "  nsatune variants --markdown > docs/variants.md",
                  [&program, markdown] {
                    if (*markdown) {
                      print_text(reports::variants_markdown(catalog()));
                      return ExitCode::good;
                    }
                    std::vector<Device> devices = probes::devices();
                    if (program.settings.device) {
                      devices = {probes::require_device(*program.settings.device)};
                    }
                    Json rows = Json::array();
                    for (const Variant& v : catalog()) rows.push_back(variant_json(v, devices));
                    if (program.settings.json) {
                      print_json({{"variants", rows}});
                    } else {
                      print_text(reports::variants_table(rows, program.settings.style_out()));
                    }
                    return ExitCode::good;
                  });
  command->add_flag("--markdown", *markdown, "The table as in docs/variants.md");
}

}  // namespace nsa::cli
