# What scripts/portable.sh makes: .deb and .rpm of the programs that have every library but libc's linked in. They run with
# glibc 2.28 and later: rpm reads that from the programs, dpkg is told.
if(PROFD_MACHINE STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
endif()
set(CPACK_GENERATOR DEB RPM)
set(CPACK_COMPONENTS_ALL daemon client agent auto dev sim lake)  # the Python client has no libraries to be linked with
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28)")
set(CPACK_DEBIAN_DAEMON_PACKAGE_DEPENDS "libc6 (>= 2.28), passwd")
set(CPACK_DEBIAN_CLIENT_PACKAGE_DEPENDS "libc6 (>= 2.28)")
set(CPACK_DEBIAN_LAKE_PACKAGE_DEPENDS "libc6 (>= 2.28), libstdc++6 (>= 7)")  # rpm reads it from the library

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_ARCHITECTURE ${PROFD_MACHINE})
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0")
set(CPACK_RPM_PACKAGE_GROUP "System Environment/Daemons")
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_PACKAGE_RELOCATABLE OFF)
set(CPACK_RPM_COMPRESSION_TYPE xz)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /etc /usr/lib/systemd /usr/lib/systemd/system /usr/lib/sysusers.d
    /usr/lib/tmpfiles.d /usr/sbin /usr/share/zsh /usr/share/bash-completion /usr/share/bash-completion/completions
    /usr/lib/pkgconfig /usr/lib/cmake)
# The same bytes each time: no name of the machine, no time of the build or of the checkout.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/portable_times.cmake)
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _buildhost profd
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define __os_install_post %{nil}
%define _build_id_links none")
foreach(component daemon client agent auto dev sim lake)
  string(TOUPPER ${component} id)
  set(CPACK_RPM_${id}_PACKAGE_NAME ${CPACK_DEBIAN_${id}_PACKAGE_NAME})
  string(FIND "${CPACK_DEBIAN_${id}_DESCRIPTION}" "\n" end)
  string(SUBSTRING "${CPACK_DEBIAN_${id}_DESCRIPTION}" 0 ${end} summary)
  math(EXPR begin "${end} + 1")
  string(SUBSTRING "${CPACK_DEBIAN_${id}_DESCRIPTION}" ${begin} -1 text)
  set(CPACK_RPM_${id}_PACKAGE_SUMMARY "${summary}")
  set(CPACK_RPM_${id}_PACKAGE_DESCRIPTION "${text}")
endforeach()
set(CPACK_RPM_AUTO_PACKAGE_ARCHITECTURE noarch)
set(CPACK_RPM_AUTO_PACKAGE_REQUIRES "profctl, libprofd-agent")
set(CPACK_RPM_DAEMON_PACKAGE_REQUIRES_PRE "/usr/sbin/groupadd")
set(CPACK_RPM_DAEMON_USER_FILELIST "%config(noreplace) /etc/profd/profd.yaml")
set(CPACK_RPM_DAEMON_PRE_INSTALL_SCRIPT_FILE ${CMAKE_CURRENT_LIST_DIR}/rpm/pre)
set(CPACK_RPM_DAEMON_POST_INSTALL_SCRIPT_FILE ${CMAKE_CURRENT_LIST_DIR}/rpm/post)
set(CPACK_RPM_DAEMON_PRE_UNINSTALL_SCRIPT_FILE ${CMAKE_CURRENT_LIST_DIR}/rpm/preun)
set(CPACK_RPM_DAEMON_POST_UNINSTALL_SCRIPT_FILE ${CMAKE_CURRENT_LIST_DIR}/rpm/postun)
set(CPACK_RPM_AUTO_PRE_UNINSTALL_SCRIPT_FILE ${CMAKE_CURRENT_LIST_DIR}/rpm/auto_preun)

# Whose work is linked in, and in which version (scripts/portable/sysroot.sh).
foreach(component daemon client agent sim)
  string(TOUPPER ${component} id)
  install(DIRECTORY ${PROFD_SYSROOT}/linked/ DESTINATION share/doc/${CPACK_DEBIAN_${id}_PACKAGE_NAME}/libraries
          COMPONENT ${component})
endforeach()
