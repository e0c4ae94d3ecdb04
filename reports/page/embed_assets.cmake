# Writes OUTPUT, a C++ table of the texts of the files in FOLDER and FOLDER/specs, sorted by name:
#   cmake -DFOLDER=reports/page/assets -DOUTPUT=asset_texts.cpp -P embed_assets.cmake
cmake_minimum_required(VERSION 3.25)
file(GLOB _files RELATIVE ${FOLDER} LIST_DIRECTORIES false ${FOLDER}/* ${FOLDER}/specs/*.json)
list(SORT _files)
file(WRITE ${OUTPUT}
"// Made from reports/page/assets by reports/page/embed_assets.cmake.
#include \"assets.hpp\"

namespace nsa::page {
namespace {

constexpr Asset kAssets[] = {
")
foreach(_file IN LISTS _files)
  file(READ ${FOLDER}/${_file} _text)
  file(APPEND ${OUTPUT} "    {\"${_file}\", R\"asset(")
  file(APPEND ${OUTPUT} "${_text}")
  file(APPEND ${OUTPUT} ")asset\"},\n")
endforeach()
file(APPEND ${OUTPUT}
"};

}  // namespace

std::span<const Asset> assets() noexcept { return kAssets; }

}  // namespace nsa::page
")
