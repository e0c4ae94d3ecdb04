# Installs the build into a prefix, moves the prefix, builds the program of ./app against it and
# runs it. Run with cmake -P; every step that fails ends it.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}\nfailed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

get_filename_component(REPOSITORY ${SOURCE_DIR}/../../.. ABSOLUTE)
file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/first --component development)
file(RENAME ${WORK_DIR}/first ${WORK_DIR}/moved)

file(GLOB_RECURSE exported ${WORK_DIR}/moved/*.cmake)
foreach(path IN LISTS exported)
  file(READ ${path} text)
  foreach(absolute IN ITEMS ${WORK_DIR} ${BUILD_DIR})
    string(FIND "${text}" "${absolute}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${path} holds the path ${absolute}: not relocatable")
    endif()
  endforeach()
endforeach()

# What users of the runtime need, and nothing else.
foreach(header IN ITEMS kernels/routing kernels/runtime kernels/telemetry kernels/device_memory)
  if(NOT EXISTS ${WORK_DIR}/moved/include/nsa/${header}.hpp)
    message(FATAL_ERROR "nsa/${header}.hpp is not installed")
  endif()
endforeach()
foreach(header IN ITEMS kernels/oracle kernels/inputs kernels/kernel_names kernels/peak
                        kernels/device_oracle schemas/json schemas/worker schemas/trace_spool)
  if(EXISTS ${WORK_DIR}/moved/include/nsa/${header}.hpp)
    message(FATAL_ERROR "nsa/${header}.hpp is installed, and no user of the runtime needs it")
  endif()
endforeach()

set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
run(${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR}/build -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${WORK_DIR}/moved -D CMAKE_CXX_COMPILER=${CXX}
    -D CMAKE_CXX_FLAGS=${flags} -D CMAKE_BUILD_TYPE=${CONFIG} -D REPOSITORY=${REPOSITORY})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${CMAKE_COMMAND} -E env --unset=NSATUNE_THRESHOLDS ${WORK_DIR}/build/app 2048)
message(STATUS "${output}")
if(NOT output MATCHES "attend_selected at 2048 tokens: [a-z0-9_]+ \\(built_in\\)")
  message(FATAL_ERROR "the program printed something else: ${output}")
endif()
