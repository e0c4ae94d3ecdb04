// The texts of a spool, and the words for CUPTI's numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nsa/schemas/trace_spool_reader.hpp"
#include "nsa/trace/names.hpp"

namespace nsa::trace {

class SpoolTexts {
 public:
  /// Reads all texts of a spool once; they may stand after what refers to them.
  SpoolTexts(std::string_view bytes, const std::string& where);

  /// Empty for 0. In a spool that was torn off a text may be missing; elsewhere that is an
  /// InputError at the record.
  std::string_view text(std::uint32_t id, const spool::SpoolCursor& at) const;

  enum class Form { as_is, kernel, api };
  /// The name under which a text is known in a trace.
  NameId name(std::uint32_t id, Form form, const spool::SpoolCursor& at, NamePool& names);

 private:
  std::vector<std::string_view> texts_;  // data() == nullptr: not there
  std::vector<NameId> names_[3];         // by form; 0 = not asked for yet
  bool torn_ = false;
};

/// "Memcpy HtoD (Pageable -> Device)", as Kineto writes it.
std::string copy_name(const spool::SpoolCopy& copy);
std::string set_name(const spool::SpoolSet& set);
std::string sync_name(std::uint32_t type);
std::string note_name(spool::NoteWhat what);

}  // namespace nsa::trace
