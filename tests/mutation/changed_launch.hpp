// A launch of a right row whose problem, tensors or sequences can be changed before it.
#pragma once

#include <list>
#include <string_view>
#include <vector>

#include "host_launch.hpp"
#include "nsa/kernels/inputs.hpp"

namespace nsa::test {

const Variant& cpu_row(Stage stage, std::string_view name,
                       Direction direction = Direction::forward);

class ChangedLaunch {
 public:
  explicit ChangedLaunch(const LaunchArgs& args);
  /// An input by the name that the signature gives it.
  TensorView& input(std::string_view name);
  /// Puts a copy of the caller's input in its place, to be written to.
  TensorView copy_input(std::string_view name);
  /// The row of the problem's direction.
  void run(Stage stage, std::string_view right);

  Problem problem;
  AttentionOptions options;
  std::vector<Sequence> sequences;
  std::vector<TensorView> in, out;
  Saved saved;
  unsigned accumulate;

 private:
  const LaunchArgs& args_;
  std::list<HostTensor> copies_;
};

/// Where the tensor of that name is among those of a signature.
std::size_t place_of(std::span<const TensorSpec> specs, std::string_view name);
/// An output by the name that the signature gives it.
const TensorView& output_of(const LaunchArgs& args, std::string_view name);

/// Element [i, j, k, l] of an fp32 or a bf16 tensor, rounded to the nearest when written.
double get(const TensorView& view, std::int64_t offset);
void put(const TensorView& view, std::int64_t offset, double value);
float to_bf16(double value);

/// One float tensor of rank 3 times a factor, one row or head of it if so asked (-1 = all).
void scale(const TensorView& view, double factor, std::int64_t row = -1, std::int64_t head = -1);

/// Three sequences of 77, 1 and 122 tokens; 4 heads in 2 groups; nothing a multiple of anything.
Problem ragged_problem();

}  // namespace nsa::test
