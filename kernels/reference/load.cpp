#include "cpu/convert.hpp"
#include "reference/reference.hpp"

namespace nsa::reference {

Row load(const TensorView& tensor, std::int64_t offset, std::int64_t count) {
  Row row(static_cast<std::size_t>(count));
  load_row(tensor, offset, count, row.data());
  return row;
}

Row load_index(const TensorView& tensor, std::int64_t index) {
  if (tensor.rank == 1) return load(tensor, index * tensor.stride[0], 1);
  if (tensor.rank == 2) return load(tensor, tensor.at(index), tensor.shape[1]);
  Row all;
  for (std::int64_t head = 0; head < tensor.shape[1]; ++head) {
    const Row part = load_head(tensor, index, head);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Row load_head(const TensorView& tensor, std::int64_t index, std::int64_t head) {
  return load(tensor, tensor.at(index, head), tensor.shape[2]);
}

}  // namespace nsa::reference
