# Debian packages: `cpack` in the build folder makes what is built into .deb files.
#   profd             the daemon, its unit and settings
#   profctl           the client
#   libprofd-agent    the agent and its Python package
#   profd-auto        what `profctl auto` turns on; nothing is on until an administrator says so
#   libprofd-dev      headers, CMake and pkg-config files
#   python3-profd-client  the client's Python package
#   profd-sim         the simulator of the driver
#   profd-lake        the library of `profctl sql`, where scripts/lake.sh has fetched it
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME profd)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)  # settings go to /etc
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/package_version.cmake)
set(CPACK_PROFD_CHANGELOG ${CMAKE_BINARY_DIR}/debian/changelog)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL daemon client agent auto dev python sim lake)

set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The profd authors <profd@localhost>")
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# profd_package(COMPONENT NAME SUMMARY TEXT)
function(profd_package component name summary text)
  string(TOUPPER ${component} id)
  set(CPACK_DEBIAN_${id}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${id}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${id}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/debian/copyright DESTINATION share/doc/${name} COMPONENT ${component})
  # cpack writes it (package_version.cmake).
  install(FILES ${CMAKE_BINARY_DIR}/debian/changelog.gz DESTINATION share/doc/${name} COMPONENT ${component} OPTIONAL)
endfunction()
profd_package(daemon profd "performance collection on Ascend NPU nodes, daemon"
  "profd samples every NPU and the host, several sessions at a time, and leaves\ndirectories in the layout of the vendor's tools.")
profd_package(client profctl "performance collection on Ascend NPU nodes, client"
  "profctl starts, watches, stops and exports what profd collects.")
# Whose work profctl has in itself (proto/CMakeLists.txt).
if(NOT PROFD_SYSROOT)
  foreach(library libgrpc-dev libprotobuf-dev libabsl-dev libre2-dev)
    install(FILES /usr/share/doc/${library}/copyright RENAME ${library}.copyright DESTINATION share/doc/profctl/libraries
            COMPONENT client OPTIONAL)
  endforeach()
endif()
profd_package(agent libprofd-agent "performance collection on Ascend NPU nodes, agent"
  "The library that a training job loads to be recorded from inside, and its\nPython package.")
profd_package(auto profd-auto "performance collection on Ascend NPU nodes, registration of jobs"
  "Lets jobs register with profd whose command line nobody changes. Nothing is on\nuntil an administrator turns it on: profctl auto enable.")
profd_package(dev libprofd-dev "performance collection on Ascend NPU nodes, headers of the agent"
  "Headers, CMake and pkg-config files to build against libprofd-agent.")
profd_package(python python3-profd-client "performance collection on Ascend NPU nodes, Python client"
  "A Python package that asks profd for sessions, on this node or another,\nand for what is there to collect.")
profd_package(sim profd-sim "simulator of the Ascend NPU driver for profd"
  "Libraries with the interface of the NPU driver and of its activity library,\nfor machines without an NPU.")
profd_package(lake profd-lake "SQL over recordings of Ascend NPU nodes, library"
  "DuckDB as a library of profctl sql and profctl export --format parquet\nalone: no other program finds it.")
# By npm, pinned by hash (client/lake/package-lock.json). In no plain `cmake --install`: it is as large as all the rest.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(folder ${CMAKE_BINARY_DIR}/lake/node_modules/@duckdb/node-bindings-linux-arm64)
else()
  set(folder ${CMAKE_BINARY_DIR}/lake/node_modules/@duckdb/node-bindings-linux-x64)
endif()
set(CPACK_PROFD_LAKE ${folder}/libduckdb.so)  # package_version.cmake looks whether it is there
install(FILES ${CPACK_PROFD_LAKE} DESTINATION lib/profd COMPONENT lake EXCLUDE_FROM_ALL)
install(FILES ${folder}/LICENSE RENAME duckdb.copyright DESTINATION share/doc/profd-lake/libraries COMPONENT lake
        EXCLUDE_FROM_ALL)
# CPack strips only what is built here.
install(CODE "execute_process(COMMAND ${CMAKE_STRIP} --strip-unneeded
              \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/profd/libduckdb.so COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT lake EXCLUDE_FROM_ALL)
set(CPACK_DEBIAN_DAEMON_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/packaging/debian/postinst ${PROJECT_SOURCE_DIR}/packaging/debian/prerm
    ${PROJECT_SOURCE_DIR}/packaging/debian/postrm ${PROJECT_SOURCE_DIR}/packaging/debian/conffiles)
set(CPACK_DEBIAN_DAEMON_PACKAGE_DEPENDS passwd)
set(CPACK_DEBIAN_DAEMON_PACKAGE_RECOMMENDS "profctl, libprofd-agent")
set(CPACK_DEBIAN_CLIENT_PACKAGE_RECOMMENDS libprofd-agent)
set(CPACK_DEBIAN_CLIENT_PACKAGE_SUGGESTS profd-lake)
set(CPACK_DEBIAN_LAKE_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LAKE_PACKAGE_RECOMMENDS libcurl4)  # a lake in a bucket
set(CPACK_DEBIAN_AGENT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_AGENT_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
set(CPACK_DEBIAN_AUTO_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_AUTO_PACKAGE_DEPENDS "profctl, libprofd-agent")
set(CPACK_DEBIAN_AUTO_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/auto/prerm)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, python3-grpcio, python3-protobuf")
if(PROFD_SYSROOT)
  include(${CMAKE_CURRENT_LIST_DIR}/portable.cmake)
endif()
include(CPack)
