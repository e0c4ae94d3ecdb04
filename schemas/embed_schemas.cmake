# Writes OUTPUT, a C++ table of the texts of the schemas in FOLDER, sorted by name:
#   cmake -DFOLDER=schemas/json -DOUTPUT=schema_texts.cpp -P embed_schemas.cmake
cmake_minimum_required(VERSION 3.25)
file(GLOB _files ${FOLDER}/*.schema.json)
list(SORT _files)
file(WRITE ${OUTPUT}
"// Made from schemas/json by schemas/embed_schemas.cmake.
#include \"validate/schema_texts.hpp\"

namespace nsa {
namespace {

using namespace std::literals;

// sv knows its length: Clang counts that of other literals in steps, of which it allows a million.
constexpr SchemaText kTexts[] = {
")
foreach(_file IN LISTS _files)
  get_filename_component(_name ${_file} NAME)
  string(REPLACE ".schema.json" "" _name ${_name})
  file(READ ${_file} _text)
  file(APPEND ${OUTPUT} "    {\"${_name}\", R\"schema(${_text})schema\"sv},\n")
endforeach()
file(APPEND ${OUTPUT}
"};

}  // namespace

std::span<const SchemaText> schema_texts() noexcept { return kTexts; }

}  // namespace nsa
")
