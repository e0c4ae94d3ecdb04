# One tar file that runs where nothing is installed: the program, and in lib/ the libraries that it
# needs, found by $ORIGIN. The C library is the machine's own, so the file's name says which one it
# needs. Vendor libraries (driver, cuDNN, CUPTI, NVML) are opened at run time and never packed.
execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE _glibc
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE " " "" _glibc_tag ${_glibc})

# RPATH, not RUNPATH: only the former is also searched for what the packed libraries need.
target_link_options(nsatune PRIVATE -Wl,--disable-new-dtags)
set_target_properties(nsatune PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/nsatune")
install(TARGETS nsatune
  RUNTIME_DEPENDENCIES
    PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util)\\.so" "^libcuda\\.so"
                        "^libnvidia" "^libcudnn" "^libcublas" "^libcupti" "^libnvrtc"
  RUNTIME DESTINATION bin COMPONENT program
  LIBRARY DESTINATION lib/nsatune COMPONENT program)

file(WRITE ${PROJECT_BINARY_DIR}/NEEDS.txt
  "nsatune ${PROJECT_VERSION} for ${CMAKE_SYSTEM_PROCESSOR} needs ${_glibc} or newer "
  "(ldd --version says which one a machine has) and nothing else. Start bin/nsatune.\n"
  "A GPU needs its driver. `bin/nsatune devices` says which optional libraries it found.\n")
install(FILES ${PROJECT_BINARY_DIR}/NEEDS.txt DESTINATION . COMPONENT program)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME nsatune)
set(CPACK_PACKAGE_VENDOR "the nsatune authors")
set(CPACK_PACKAGE_FILE_NAME
    "nsatune-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}-${_glibc_tag}")
set(CPACK_COMPONENTS_ALL program)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_STRIP_FILES ON)
include(CPack)
