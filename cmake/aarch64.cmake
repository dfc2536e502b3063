# For nodes with Kunpeng CPUs, built on an amd64 Debian 12: dpkg --add-architecture arm64, apt-get install
# crossbuild-essential-arm64 qemu-user-static, and the -dev packages of scripts/common.sh with :arm64 (protoc, the
# gRPC plugin and nanopb's generator stay the machine's own). Built natively on such a node the preset release does.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
# Man pages and completions are printed by the programs themselves.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
