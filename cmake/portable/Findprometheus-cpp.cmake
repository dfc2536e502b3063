# Made by scripts/portable/sysroot.sh.
add_library(prometheus-cpp::core STATIC IMPORTED)
find_library(PROMETHEUS_ARCHIVE libprometheus-cpp-core.a REQUIRED)
set_target_properties(prometheus-cpp::core PROPERTIES IMPORTED_LOCATION ${PROMETHEUS_ARCHIVE})
set(prometheus-cpp_FOUND TRUE)
