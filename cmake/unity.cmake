# PROFD_UNITY: sources are compiled several at a time, where their names allow it (unity.py): a cold build takes a
# fraction of the CPU, as headers are most of what is compiled. Off where one works on the code: one file is compiled
# again then, not its neighbours, and clang-tidy finds each file in compile_commands.json.
# A target with the property PROFD_LINKED_IN_PARTS is left alone: some program links one object of it without the others.
option(PROFD_UNITY "Compile several sources at a time, for a build from nothing" OFF)

function(profd_targets_below folder result)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(next ${below})
    profd_targets_below(${next} more)
    list(APPEND targets ${more})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

function(profd_group_sources)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  profd_targets_below(${PROJECT_SOURCE_DIR} targets)
  set(lines "")
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(in_parts ${target} PROFD_LINKED_IN_PARTS)
    if(NOT type MATCHES "LIBRARY|EXECUTABLE" OR type STREQUAL "INTERFACE_LIBRARY" OR in_parts)
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cc$")
    list(FILTER sources EXCLUDE REGEX "^\\$<")
    list(TRANSFORM sources PREPEND ${folder}/ REGEX "^[^/]")
    # What is defined for one source (tests/) is for none of its neighbours.
    set(together ${sources})
    foreach(source ${sources})
      get_source_file_property(own ${source} TARGET_DIRECTORY ${target} COMPILE_DEFINITIONS)
      if(own)
        list(REMOVE_ITEM together ${source})
      endif()
    endforeach()
    set(sources ${together})
    list(LENGTH sources count)
    if(count GREATER 1)
      string(APPEND lines "${target};${sources}\n")
    endif()
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/unity_targets "${lines}")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/unity.py ${PROJECT_BINARY_DIR}/unity
                  INPUT_FILE ${PROJECT_BINARY_DIR}/unity_targets OUTPUT_FILE ${PROJECT_BINARY_DIR}/unity.cmake
                  COMMAND_ERROR_IS_FATAL ANY)
  include(${PROJECT_BINARY_DIR}/unity.cmake)
endfunction()

if(PROFD_UNITY)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Where gcc sees more of the program it guesses more; what it guesses there is said, and refuses no build.
    foreach(guess maybe-uninitialized array-bounds stringop-overflow stringop-overread restrict nonnull use-after-free
                  free-nonheap-object dangling-pointer)
      add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-error=${guess}>)
    endforeach()
    # It inlines less where a source is large, as ten at once are (unity.py): each gets what it has alone (10000). Without,
    # a timeline of tasks takes 14 % more CPU to write (export_bench).
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=large-unit-insns=100000>)
    # It takes a source that another one includes for a header.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
  cmake_language(DEFER CALL profd_group_sources)
endif()
