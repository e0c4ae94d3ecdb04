#include "changed_launch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "worker/row_distance.hpp"

namespace nsa::test {

std::size_t place_of(std::span<const TensorSpec> specs, std::string_view name) {
  const auto found = std::ranges::find(specs, name, &TensorSpec::name);
  expects(found != specs.end(), "a tensor of the signature");
  return static_cast<std::size_t>(found - specs.begin());
}

const Variant& cpu_row(Stage stage, std::string_view name, Direction direction) {
  const Stage stages[] = {stage};
  const Variant* variant = find_variant(stages, name, Backend::cpu, direction);
  expects(variant != nullptr, "a CPU row of that name");
  return *variant;
}

ChangedLaunch::ChangedLaunch(const LaunchArgs& args)
    : problem(args.problem),
      options(args.options),
      sequences(args.sequences.begin(), args.sequences.end()),
      in(args.in.begin(), args.in.end()),
      out(args.out.begin(), args.out.end()),
      saved(args.saved ? *args.saved : Saved{}),
      accumulate(args.accumulate),
      args_(args) {}

TensorView& ChangedLaunch::input(std::string_view name) {
  return in[place_of(signature_of(args_.row.stages, problem.direction).inputs, name)];
}

TensorView ChangedLaunch::copy_input(std::string_view name) {
  TensorView& from = input(name);
  expects(from.contiguous(), "a contiguous input");
  HostTensor& copy = copies_.emplace_back();
  copy.shape = {from.dtype, from.rank, from.shape};
  copy.bytes.resize(from.bytes());
  std::memcpy(copy.bytes.data(), from.data, from.bytes());
  return from = copy.view();
}

void ChangedLaunch::run(Stage stage, std::string_view right) {
  HostLaunch{.row = cpu_row(stage, right, problem.direction),
             .problem = problem,
             .in = in,
             .out = out,
             .point = args_.point,
             .options = options,
             .saved = args_.saved ? &saved : nullptr,
             .accumulate = accumulate,
             .sequences = sequences}
      .run(args_.workspace);
}

const TensorView& output_of(const LaunchArgs& args, std::string_view name) {
  return args.out[place_of(signature_of(args.row.stages, args.problem.direction).outputs, name)];
}

double get(const TensorView& view, std::int64_t offset) {
  const auto at = static_cast<std::size_t>(offset) * size_of(view.dtype);
  return tuner::value_of(view.as<const std::byte>() + at, view.dtype);
}

float to_bf16(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u);
}

void put(const TensorView& view, std::int64_t offset, double value) {
  if (view.dtype == Dtype::fp32) {
    view.as<float>()[offset] = static_cast<float>(value);
    return;
  }
  expects(view.dtype == Dtype::bf16, "fp32 or bf16");
  view.as<std::uint16_t>()[offset] =
      static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(to_bf16(value)) >> 16);
}

void scale(const TensorView& view, double factor, std::int64_t row, std::int64_t head) {
  for (std::int64_t i = 0; i < view.shape[0]; ++i) {
    for (std::int64_t j = 0; j < view.shape[1]; ++j) {
      if ((row >= 0 && i != row) || (head >= 0 && j != head)) continue;
      for (std::int64_t k = 0; k < view.shape[2]; ++k)
        put(view, view.at(i, j, k), factor * get(view, view.at(i, j, k)));
    }
  }
}

Problem ragged_problem() {
  Problem p;
  p.seq_lens = {77, 1, 122};
  p.context_lens = {0, 0, 0};
  p.q_heads = 4;
  p.kv_heads = 2;
  p.head_dim_k = 8;
  p.head_dim_v = 6;
  p.geometry = {8, 4, 16, 4, 24};
  p.model.model_dim = 24;
  return p;
}

}  // namespace nsa::test
