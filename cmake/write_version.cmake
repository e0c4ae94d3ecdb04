# Run by every build (cmake -P): which commit is compiled. INPUT becomes OUTPUT, which is touched only
# where something changed.
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE NSA_GIT_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(NSA_GIT_CHANGED std::nullopt)  # nobody knows
if(NSA_GIT_REVISION)
  execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(NSA_GIT_CHANGED false)
    if(changes)
      set(NSA_GIT_CHANGED true)
    endif()
  endif()
else()
  set(NSA_GIT_REVISION unknown)
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
