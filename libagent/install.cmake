# What a workload's build needs: find_package(profd) gives profd::agent, pkg-config profd-agent the same.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS profd_agent LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT agent)
install(FILES include/profd/agent.h include/profd/agent.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/profd
  COMPONENT dev)
# Where profctl auto looks, beside the library.
install(DIRECTORY python/auto/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/profd/auto COMPONENT auto PATTERN __pycache__ EXCLUDE)
# Where profctl run looks, beside the library.
install(DIRECTORY python/profd DESTINATION ${CMAKE_INSTALL_LIBDIR}/profd/python COMPONENT agent
  PATTERN __pycache__ EXCLUDE)

configure_package_config_file(profdConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/profdConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/profd PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/profdConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/profdConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/profdConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/profd COMPONENT dev)
# Relative, so that a tree that is moved still works.
file(RELATIVE_PATH PROFD_PC_INCLUDE ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(profd-agent.pc.in ${CMAKE_CURRENT_BINARY_DIR}/profd-agent.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/profd-agent.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT dev)
