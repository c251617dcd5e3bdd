# Cross compilation for arm64 Linux with Debian's g++-aarch64-linux-gnu and arm64 packages installed
# by multiarch (docs/packaging.md). Tests run under qemu-user where it is installed.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
find_program(LONGHAUL_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(LONGHAUL_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${LONGHAUL_QEMU})
endif()
