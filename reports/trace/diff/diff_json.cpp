#include "nsa/trace/diff_json.hpp"

#include "diff/fields.hpp"

namespace nsa::trace {

Json to_document(const TraceDiff& diff) {
  Json j{{"schema_version", 1}};
  j.update(fields::object_of(diff));
  return j;
}

}  // namespace nsa::trace
