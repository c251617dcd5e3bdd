# The GPU backend (*.cu and *.gpu.cc in src/ops and src/attention). The program needs no CUDA library
# to start. The runtime is linked statically, and the driver and cuBLASLt are opened on first use.
option(LONGHAUL_CUDA "Build the GPU backend; needs nvcc 12.8 or later" OFF)
if(NOT LONGHAUL_CUDA)
  return()
endif()
set(LONGHAUL_CUDA_ARCHITECTURES "80-real;86-real;89-real;90a-real;120-real;80-virtual" CACHE STRING
    "Cards to build kernels for; the last form serves all later ones")
if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
  set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
endif()
set(CMAKE_CUDA_ARCHITECTURES ${LONGHAUL_CUDA_ARCHITECTURES})
enable_language(CUDA)
# CMake 3.25 does not know that nvcc 12 and later take C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
find_package(CUDAToolkit REQUIRED)

# longhaul_cuda(TARGET KERNEL...): adds kernels (*.cu) to a room. NDEBUG is always set because an
# assertion in device code makes ptxas serialise wgmma.
function(longhaul_cuda target)
  add_library(${target}_kernels STATIC ${ARGN})
  target_include_directories(${target}_kernels PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(${target}_kernels PRIVATE --expt-relaxed-constexpr -DNDEBUG -O3)
  set_target_properties(${target}_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON
                        CUDA_SEPARABLE_COMPILATION OFF CUDA_RUNTIME_LIBRARY Static)
  target_link_libraries(${target}_kernels PRIVATE $<LINK_ONLY:${target}>)  # layouts, threads
  target_link_libraries(${target} PUBLIC ${target}_kernels CUDA::cudart_static ${CMAKE_DL_LIBS})
endfunction()
