#include "settings_text.hpp"

#include "formats/own.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::exchange {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields fields_of(const std::string& text, const std::string& where) {
  Fields fields;
  for (std::size_t at = 0; at != std::string::npos;) {
    const std::size_t end = text.find(';', at);
    const std::string part = text.substr(at, end - at);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      throw InputError(where + ": '" + part.substr(0, 40) + "' is not name=value");
    fields.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    at = end == std::string::npos ? end : end + 1;
  }
  return fields;
}

template <class Enum>
void take(Enum& out, const std::string& word, const std::string& where) {
  const auto value = from_string<Enum>(word);
  if (!value) throw InputError(where + ": '" + word.substr(0, 40) + "' is not known");
  out = *value;
}

}  // namespace

std::string settings_text(const Measurement& row) {
  std::string text;
  for (const auto& [name, value] : problem_fields(row.problem)) text += name + "=" + value + ";";
  return text + "launch=" + std::string(to_string(row.launch)) +
         ";timer=" + std::string(to_string(row.timer)) + ";cold=" + (row.cold ? "1" : "0");
}

void set_settings(Measurement& row, const std::string& text, const std::string& where) {
  Fields problem;
  for (auto& [name, value] : fields_of(text, where)) {
    if (name == "launch") {
      take(row.launch, value, where);
    } else if (name == "timer") {
      take(row.timer, value, where);
    } else if (name == "cold") {
      if (value != "0" && value != "1") throw InputError(where + ": cold is 0 or 1");
      row.cold = value == "1";
    } else {
      problem.emplace_back(std::move(name), std::move(value));
    }
  }
  row.problem = problem_of_fields(problem, where);
}

}  // namespace nsa::exchange
