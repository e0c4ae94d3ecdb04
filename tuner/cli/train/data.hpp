// Tokens of a training run: those of any step, without the steps before it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nsa/kernels/training.hpp"

namespace nsa::cli {

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// Tokens of a step: [accumulate, batch, seq_len + 1]. EnvironmentError where they cannot be read
  /// any more.
  virtual std::vector<std::int32_t> tokens_of(std::int64_t step) const = 0;
  /// For the result: "synthetic", or the file.
  virtual std::string name() const = 0;
  /// What tokens follow from, wherever the file lies: "synthetic", or its size and hash.
  virtual std::string content() const = 0;
};

/// Tokens that follow each other by a rule three times of four, so that there is something to
/// learn.
std::unique_ptr<TokenSource> synthetic_tokens(const training::TrainingConfig& config,
                                              std::uint64_t seed);
/// Pieces of a file of bytes, or of 16-bit numbers where `wide`, that begin anywhere. InputError
/// where it is missing, empty, shorter than a sequence and its next token, or holds a token that is
/// not in the vocabulary.
std::unique_ptr<TokenSource> tokens_of_file(const std::string& path, bool wide,
                                            const training::TrainingConfig& config,
                                            std::uint64_t seed);

}  // namespace nsa::cli
