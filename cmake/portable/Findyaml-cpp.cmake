add_library(yaml-cpp STATIC IMPORTED)
find_library(YAML_CPP_ARCHIVE libyaml-cpp.a REQUIRED)
set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${YAML_CPP_ARCHIVE})
set(yaml-cpp_FOUND TRUE)
