// Commands as a shell takes them.
#pragma once

#include <string>
#include <vector>

namespace nsa::cli {

/// A text as one word of a shell, in quotes.
std::string shell_word(const std::string& text);
/// Words as one types them: in quotes where a shell would not take them as they are, as in
/// `nsatune report bundle tuned 'NSA_FORCE_SEL_MASK=1 --graph'`.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace nsa::cli
