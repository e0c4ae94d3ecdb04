#include "pool/workers/hang_notes.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/trace_request.hpp"
#include "nsa/schemas/trace_spool_reader.hpp"

namespace nsa::tuner {
namespace {

void read_spool(const std::filesystem::path& path, HangNotes& notes) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  spool::SpoolCursor cursor(bytes, path.string());
  notes.spool = true;
  std::map<std::uint32_t, std::string> texts;
  std::string hang;  // the last one counts: what was noted before it went on
  while (cursor.next()) {
    if (cursor.kind() == spool::Kind::text) {
      const auto text = cursor.get<spool::SpoolText>();
      texts[text.id] = cursor.text(text);
    }
    if (cursor.kind() != spool::Kind::note) continue;
    const auto note = cursor.get<spool::SpoolNote>();
    const std::string& words = texts[note.text];
    if (note.what == spool::NoteWhat::hang && !words.starts_with(spool::kHostStacks)) hang = words;
    if (note.what == spool::NoteWhat::degraded || note.what == spool::NoteWhat::nothing)
      notes.trouble += words + '\n';
  }
  notes.hang += hang;
}

}  // namespace

HangNotes read_hang_notes(const std::string& folder) {
  HangNotes notes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != spool::kFileSuffix) continue;
    try {
      read_spool(entry.path(), notes);
    } catch (const InputError& unreadable) {
      notes.trouble += std::string(unreadable.what()) + '\n';
    }
  }
  return notes;
}

}  // namespace nsa::tuner
