#include "recorded_rows.hpp"

#include <string>
#include <utility>

#include "nsa/exchange/exchange.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/trace/unpacked.hpp"

namespace nsa::test {

std::vector<Measurement> recorded_rows() {
  const std::string path = std::string(NSA_SOURCE_DIR) + "/docs/results/h200.csv.gz";
  const std::string text = trace::unpacked(read_text_file(path), path);
  return std::move(exchange::find_format("csv").read({path, text, {}, {}}).rows);
}

}  // namespace nsa::test
