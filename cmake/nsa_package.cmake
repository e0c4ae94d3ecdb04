# Two packages of one build. The tar file runs where nothing is installed: the program, and in
# lib/nsatune the libraries that it needs, found by $ORIGIN; the C library is the machine's own, so the
# file's name says which one it needs. The .deb depends on the release's packages instead. Vendor
# libraries (driver, cuDNN, CUPTI, NVML) are opened at run time and never packed.
#
# Two builds of one commit give the same bytes, wherever they lie, if SOURCE_DATE_EPOCH is set
# (scripts/package/compare_packages).
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
  LIBRARY DESTINATION lib/nsatune COMPONENT libraries)

file(WRITE ${PROJECT_BINARY_DIR}/NEEDS.txt
  "nsatune ${PROJECT_VERSION} for ${CMAKE_SYSTEM_PROCESSOR} needs ${_glibc} or newer "
  "(ldd --version says which one a machine has) and nothing else. Start bin/nsatune.\n"
  "A GPU needs its driver. `bin/nsatune devices` says which optional libraries it found.\n")
install(FILES ${PROJECT_BINARY_DIR}/NEEDS.txt DESTINATION . COMPONENT libraries)

# What is inside, with versions and licences.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(_cudart)
if(NSA_HAVE_CUDA)
  set(_cudart --cudart ${CUDA_cudart_static_LIBRARY} --cuda-version ${CUDAToolkit_VERSION})
endif()
add_custom_command(TARGET nsatune POST_BUILD
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/package/make_sbom
          --program $<TARGET_FILE:nsatune> --version ${PROJECT_VERSION}
          --out ${PROJECT_BINARY_DIR}/sbom ${_cudart} VERBATIM)
install(FILES ${PROJECT_BINARY_DIR}/sbom/sbom.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT program)
install(DIRECTORY ${PROJECT_BINARY_DIR}/sbom/licences DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT libraries)

set(CPACK_PACKAGE_NAME nsatune)
set(CPACK_PACKAGE_VENDOR "the nsatune authors")
# Who builds packages for others says who they are: -D NSA_PACKAGE_CONTACT="Name <address>".
set(NSA_PACKAGE_CONTACT "nsatune developers <root@localhost>" CACHE STRING
  "Maintainer field of the .deb: Name <address>")
set(CPACK_PACKAGE_CONTACT "${NSA_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_FILE_NAME
    "nsatune-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}-${_glibc_tag}")
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_STRIP_FILES ON)

# "debian12", "ubuntu24.04": packages of one release do not install on another.
file(STRINGS /etc/os-release _release REGEX "^(ID|VERSION_ID)=")
string(REGEX REPLACE "(VERSION_ID|ID)=|\"|;" "" _release "${_release}")
set(CPACK_DEBIAN_PACKAGE_RELEASE "1~${_release}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libjs-vega")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/nsa_package_parts.cmake)
set(CPACK_COMPONENTS_ALL program libraries)
include(CPack)
