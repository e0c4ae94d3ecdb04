// What a tracer noted in the spools of a program that hung.
#pragma once

#include <string>

namespace nsa::tuner {

struct HangNotes {
  bool spool = false;   // one is there, and can be read
  std::string hang;     // last kernel, open ranges; several lines; empty: no hang was noted
  std::string trouble;  // why the tracer could not record
};
/// Of all spools in a folder, whole or torn.
HangNotes read_hang_notes(const std::string& folder);

}  // namespace nsa::tuner
