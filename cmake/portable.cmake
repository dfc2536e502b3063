# What scripts/portable.sh builds with: PROFD_MACHINE is x86_64 or aarch64, PROFD_SYSROOT what scripts/portable/sysroot.sh
# made. One compiler for both machines; every library but libc's is linked in.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PROFD_MACHINE PROFD_SYSROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${PROFD_MACHINE})
set(triple ${PROFD_MACHINE}-linux-gnu)
set(CMAKE_SYSROOT ${PROFD_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
set(CMAKE_C_COMPILER clang)
set(CMAKE_CXX_COMPILER clang++)
set(CMAKE_C_COMPILER_TARGET ${triple})
set(CMAKE_CXX_COMPILER_TARGET ${triple})
# Not the headers of this machine's GCC, which clang would take before those of the sysroot.
set(CMAKE_C_COMPILER_EXTERNAL_TOOLCHAIN ${PROFD_SYSROOT}/usr)
set(CMAKE_CXX_COMPILER_EXTERNAL_TOOLCHAIN ${PROFD_SYSROOT}/usr)
set(CMAKE_AR llvm-ar CACHE FILEPATH "")
set(CMAKE_RANLIB llvm-ranlib CACHE FILEPATH "")
set(CMAKE_OBJCOPY llvm-objcopy CACHE FILEPATH "")
set(CMAKE_STRIP llvm-strip CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
if(NOT PROFD_MACHINE STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  # Man pages and completions are printed by the programs themselves.
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${PROFD_MACHINE}-static -L ${PROFD_SYSROOT})
endif()

# The same source makes the same bytes, whatever the folder's name.
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(flags "-ffile-prefix-map=${source}=. -ffile-prefix-map=${PROFD_SYSROOT}=/ -fdebug-compilation-dir=. -fstack-protector-strong -D_FORTIFY_SOURCE=2")
set(CMAKE_C_FLAGS_INIT ${flags})
set(CMAKE_CXX_FLAGS_INIT ${flags})
set(link "-fuse-ld=lld -Wl,--build-id=sha1 -Wl,-z,relro -Wl,-z,now -Wl,--gc-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${link} -pie -static-libgcc -Wl,--as-needed")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${link} -static-libgcc -Wl,--as-needed -Wl,--exclude-libs,ALL")

# What Debian's archives need of each other, in no order: the linker takes of each what is asked for. Not where CMake asks
# the compiler what it links by itself: it would do so for C, too, then.
get_property(asking GLOBAL PROPERTY IN_TRY_COMPILE)
if(NOT asking)
  set(folder ${PROFD_SYSROOT}/usr/lib/${triple})
  file(GLOB archives ${folder}/libabsl_*.a)
  list(PREPEND archives -static-libstdc++ ${folder}/old_libc.o)
  list(APPEND archives -lupb -laddress_sorting -lcares -lre2 -lssl -lcrypto -lz -ldl -lrt -lpthread)
  list(JOIN archives " " archives)
  set(CMAKE_CXX_STANDARD_LIBRARIES "${archives}" CACHE STRING "")
endif()

# Their CMake files know the shared libraries only.
list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR}/portable)
set(OPENSSL_USE_STATIC_LIBS TRUE)
