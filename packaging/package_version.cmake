# Run by cpack. The version is that of the source: the tag, or the next version's name with day and hash of the commit;
# times in the packages are the commit's, so that the same source makes the same packages.
set(source ${CMAKE_CURRENT_LIST_DIR}/..)
macro(git result)
  execute_process(COMMAND git -C ${source} ${ARGN} OUTPUT_VARIABLE ${result} ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endmacro()
set(version ${CPACK_PACKAGE_VERSION_MAJOR}.${CPACK_PACKAGE_VERSION_MINOR}.${CPACK_PACKAGE_VERSION_PATCH})
git(tag describe --tags --exact-match --match v[0-9]*)
git(commit log -1 --date=format:%Y%m%d "--format=%cd.%h")
git(commit_time log -1 --format=%ct)
if(tag)
  string(SUBSTRING ${tag} 1 -1 version)
elseif(commit)
  string(APPEND version +git${commit})
endif()
if(commit_time AND NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  set(ENV{SOURCE_DATE_EPOCH} ${commit_time})
endif()
if(DEFINED ENV{PROFD_PACKAGE_VERSION})  # a test of upgrades
  set(version $ENV{PROFD_PACKAGE_VERSION})
endif()

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH
file(WRITE ${CPACK_PROFD_CHANGELOG}
     "profd (${version}) unstable; urgency=medium\n\n  * Version ${version}.\n\n -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}\n")
execute_process(COMMAND gzip -9nf ${CPACK_PROFD_CHANGELOG})

set(CPACK_PACKAGE_VERSION ${version})
set(CPACK_DEBIAN_PACKAGE_VERSION ${version})
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libprofd-agent (= ${version})")
set(CPACK_RPM_DEV_PACKAGE_REQUIRES "libprofd-agent = ${version}")

list(FIND CPACK_COMPONENTS_ALL lake place)
if(NOT place EQUAL -1 AND NOT EXISTS ${CPACK_PROFD_LAKE})
  message(STATUS "profd-lake is left out: scripts/lake.sh fetches its library")
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL lake)
endif()
