// Which query a row belongs to where the heads of a group are rows, query after query.
#pragma once

namespace nsa::cuda {

/// Division by the heads of a group, by multiplication: exact for rows below 2^32 / heads.
class QueryOfRow {
 public:
  __device__ explicit QueryOfRow(int heads)
      : magic_(0xffffffffu / static_cast<unsigned>(heads) + 1) {}
  __device__ int operator()(int row) const {
    return magic_ == 0 ? row : static_cast<int>(__umulhi(static_cast<unsigned>(row), magic_));
  }

 private:
  unsigned magic_;  // 2^32 / heads, rounded up; 0 for one head, as 32 bits do not hold 2^32
};

}  // namespace nsa::cuda
