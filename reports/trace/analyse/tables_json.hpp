// Rows of the tables as JSON.
#pragma once

#include "nsa/schemas/json.hpp"
#include "nsa/trace/collectives.hpp"
#include "nsa/trace/critical_path.hpp"
#include "nsa/trace/tables.hpp"

namespace nsa::trace {

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const CopyRow& row);
Json to_json(const Collectives& collectives);
Json to_json(const CriticalPath& path);
Json to_json(const OperatorRow& row);
Json to_json(const AnnotationRow& row);
Json to_json(const ModuleRow& row);
Json to_json(const Gaps& gaps);
Json to_json(const QueueRow& row);
Json to_json(const StepTimes& times);

}  // namespace nsa::trace
