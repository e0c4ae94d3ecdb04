// Traces of operators one after the other, and a layer of NSA as such a list.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "traces.hpp"

namespace nsa::test {

/// Nanoseconds by stage, as a text that a failed check shows.
struct Times : std::map<std::string, std::int64_t> {};
inline std::ostream& operator<<(std::ostream& out, const Times& times) {
  for (const auto& [stage, ns] : times) out << stage << ' ' << ns << "  ";
  return out;
}

/// Operators one after the other, each with a kernel of 1 us; autograd's number counts them.
class Operators {
 public:
  /// "linear einsum(bmm) ...": one within another stands in parentheses, and has the kernel.
  Operators& run(const std::string& names, int thread = 1) {
    std::istringstream words(names);
    for (std::string word; words >> word;) {
      const auto inner = word.find('(');
      number("aten::" + word.substr(0, inner), thread, 8, 0);
      if (inner != word.npos)
        number("aten::" + word.substr(inner + 1, word.size() - inner - 2), thread, 6, 1);
      launch(thread);
      at_ += 10;
      ++sequence_;
    }
    return *this;
  }
  /// The node of autograd with this number, on thread 2, with a kernel of its own.
  Operators& backward(int of_sequence) {
    t.op("autograd::engine::evaluate_function: SomeBackward0", at_, 8,
         R"("Fwd thread id": 1, "Sequence number": )" + std::to_string(of_sequence), 2);
    t.op("aten::mul", at_ + 1, 6, "", 2);
    launch(2);
    at_ += 10;
    return *this;
  }
  double now() const { return at_; }
  /// The next operator has the number of the one before, which then has no node.
  void hold_number() { --sequence_; }

  JsonTrace t;

 private:
  void number(const std::string& name, int thread, double length, double after) {
    t.op(name, at_ + after, length,
         R"("Fwd thread id": 0, "Sequence number": )" + std::to_string(sequence_), thread);
  }
  void launch(int thread) {
    ++launched_;
    t.call("cudaLaunchKernel", launched_, at_ + 2, 2, thread);
    t.kernel("k", launched_, at_ + 5, 1);
  }

  double at_ = 0;
  int launched_ = 0, sequence_ = 100;
};

struct Piece {
  const char *stage, *operators;
};

/// A layer as the PyTorch implementation of NSA runs it with masks, shortened.
inline const std::vector<Piece>& layer() {
  static const std::vector<Piece> pieces{
      {"", "pow mean rsqrt mul"},
      {"project_rope",
       "linear(addmm) view sin cos mul stack linear permute linear linear linear linear linear sin "
       "cos stack view_as"},
      {"", "cat item cat"},
      {"compress", "slice sin cos mul stack reshape avg_pool2d alias avg_pool2d"},
      {"pcmp", "squeeze permute einsum(bmm) mul softmax(_softmax)"},
      {"pslc", "to lt index mul zeros scatter_add view sum"},
      {"topk",
       "le masked_fill cat sort unique_consecutive scatter_ masked_fill sub topk gather diff any "
       "cat gather where sort"},
      {"ranges", "ge cumsum where index scatter_reduce_ index_put_ repeat_interleave index_put_"},
      {"", "sum item arange lt floor_divide where"},
      {"attend_selected",
       "select clamp_ select reshape zeros ones_like scatter_add_ neg scatter_add_ slice cumsum gt "
       "reshape any index_put_ where scaled_dot_product_attention transpose any is_nonzero where"},
      {"attend_window",
       "arange arange le sub ge __and__ full masked_fill_ expand scaled_dot_product_attention "
       "transpose"},
      {"gate_combine",
       "mean linear silu linear div softmax topk item slice mul mul add mul add reshape"},
      {"out_proj", "linear"},
      {"", "add pow mean rsqrt mul linear silu linear add"}};
  return pieces;
}

/// Times of the stages that are inferred.
inline Times inferred(const trace::Summary& s) {
  Times out;
  for (const trace::StageRow& row : s.stages.value())
    if (row.inferred()) out[row.stage] = row.total_ns;
  return out;
}

}  // namespace nsa::test
