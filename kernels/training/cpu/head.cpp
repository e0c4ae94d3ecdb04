// Head and loss, a part of the rows after the other: logits of all rows at once would be the
// largest tensor of a step.
#include <algorithm>
#include <cmath>

#include "runtime/stage.hpp"
#include "training/cpu/ops.hpp"
#include "training/cpu/product.hpp"

namespace nsa::training::cpu {
namespace {

/// The loss of one row; its logits become scale x (softmax - one-hot), or zeros without a target.
template <class T>
double row_loss(T* logits, std::int64_t vocab, std::int32_t target, double scale) {
  if (target < 0 || target >= vocab) {
    std::fill_n(logits, vocab, T{0});
    return 0;
  }
  const T largest = *std::max_element(logits, logits + vocab);
  double sum = 0;
  for (std::int64_t i = 0; i < vocab; ++i)
    sum += static_cast<double>(std::exp(logits[i] - largest));
  const double lse = static_cast<double>(largest) + std::log(sum);
  const double loss = lse - static_cast<double>(logits[target]);
  for (std::int64_t i = 0; i < vocab; ++i)
    logits[i] = static_cast<T>(scale) * std::exp(logits[i] - static_cast<T>(lse));
  logits[target] -= static_cast<T>(scale);
  // max_element and exp pass a NaN by; the sum does not.
  return sum == sum ? loss : sum;
}

template <class T>
class Head {
 public:
  Head(const HeadLoss& head, Workspace& workspace)
      : head_(head),
        workspace_(workspace),
        weights_(matrix_rows<T>(head.weight, 0, head.weight.shape[0], workspace)),
        losses_(workspace.take<double>(head.x.shape[0])) {
    const std::int64_t elements = vocab() * dim();
    // Where parts are added up in a narrower type than T, they would be rounded once each.
    if (head.d_weight.to && !is_matrix_of<T>(head.d_weight.to))
      sum_ = make_view(workspace.take<T>(elements).data(),
                       std::is_same_v<T, double> ? Dtype::fp64 : Dtype::fp32, {vocab(), dim()});
  }

  double run() {
    const std::int64_t rows = head_.x.shape[0], part = head_rows_at_once(rows, vocab());
    for (std::int64_t r = 0; r < rows; r += part) run_part(r, std::min(part, rows - r));
    if (sum_) {
      for_rows<T>(vocab(), dim(), [&](std::int64_t r, T* old) {
        write(head_.d_weight, head_.d_weight.to.at(r), dim(), sum_.as<T>() + sum_.at(r), old);
      });
    }
    double loss = 0;
    for (const double one : losses_) loss += one;
    return head_.scale * loss;
  }

 private:
  std::int64_t vocab() const { return head_.weight.shape[0]; }
  std::int64_t dim() const { return head_.weight.shape[1]; }

  void run_part(std::int64_t first, std::int64_t count) {
    const WorkspaceScope scope(workspace_);
    T* logits = workspace_.take<T>(count * vocab()).data();
    const Matrix<T> m = matrix_rows<T>(head_.x, first, count, workspace_);
    const MatrixView<const T> x{m.data, count, dim(), m.row_stride};
    const MatrixView<const T> w{weights_.data, vocab(), dim(), weights_.row_stride};
    parallel_gemm(x, w.transpose(), MatrixView<T>{logits, count, vocab(), vocab()});
    parallel_for(0, count, kRowsPerPiece, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t r = from; r < to; ++r) {
        const auto row = static_cast<std::size_t>(first + r);
        losses_[row] =
            row_loss(logits + r * vocab(), vocab(),
                     head_.targets.as<std::int32_t>()[head_.targets.at(first + r)], head_.scale);
      }
    });
    const MatrixView<const T> d{logits, count, vocab(), vocab()};
    if (head_.d_x.to)
      write_product(d, w, {slice_rows(head_.d_x.to, first, count), head_.d_x.add}, workspace_);
    if (!head_.d_weight.to) return;
    const Gradient whole = sum_ ? Gradient{sum_, first > 0}
                                : Gradient{head_.d_weight.to, head_.d_weight.add || first > 0};
    write_product(d.transpose(), x, whole, workspace_);
  }

  const HeadLoss& head_;
  Workspace& workspace_;
  Matrix<T> weights_;
  std::span<double> losses_;
  TensorView sum_;
};

}  // namespace

void head_loss(const HeadLoss& head, StepScalars& scalars, Workspace& workspace) {
  const WorkspaceScope scope(workspace);
  with_accumulator(head.x.dtype,
                   [&](auto zero) { scalars.loss += Head<decltype(zero)>(head, workspace).run(); });
}

}  // namespace nsa::training::cpu
