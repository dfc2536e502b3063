# Warnings are errors on our own code; generated code is compiled by targets that link profd_generated_code instead.
add_compile_options(-Wall -Wextra -fno-omit-frame-pointer)
add_library(profd_strict INTERFACE)
target_compile_options(profd_strict INTERFACE -Werror)
link_libraries(profd_strict)

if(PROFD_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
  add_compile_definitions(PROFD_SEARCHED_FOR_LEAKS)
elseif(PROFD_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio and the agent fence by hand, and gcc warns that TSan cannot follow. What they order is accessed atomically.
    add_compile_options(-Wno-tsan)
  endif()
  add_link_options(-fsanitize=thread)
elseif(PROFD_SANITIZE)
  message(FATAL_ERROR "PROFD_SANITIZE=${PROFD_SANITIZE}: expected address, thread or nothing")
endif()

# A target that finds functions by name (dlsym): the library has types of its own for what they take, which clang's UBSan
# would refuse.
function(profd_calls_by_name target)
  if(PROFD_SANITIZE STREQUAL "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE -fno-sanitize=function)
  endif()
endfunction()

# Debug information of the two gRPC units dwarfs everything else; line tables are enough for a backtrace.
add_compile_options(-g1)

find_program(CCACHE ccache)
if(CCACHE)
  # What it asks for where headers are compiled once (tests/).
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(LLD ld.lld)
if(LLD AND NOT PROFD_SANITIZE)
  add_link_options(-fuse-ld=lld)
endif()
