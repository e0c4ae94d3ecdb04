# Every dependency, in one place.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(SQLiteCpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(simdjson REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
find_package(Boost 1.74 REQUIRED)  # Boost.Math, headers only
find_package(hwy REQUIRED)  # Highway: SIMD kernels, dispatched at run time
if(NOT EXISTS ${NSA_VALIJSON_INCLUDE_DIR}/valijson/validator.hpp)
  message(FATAL_ERROR "valijson was not found in ${NSA_VALIJSON_INCLUDE_DIR}. Run "
                      "scripts/install_deps, or set NSA_VALIJSON_INCLUDE_DIR.")
endif()
