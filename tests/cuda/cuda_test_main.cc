// Runs the tests if there is a GPU. Otherwise says so and exits with 77, which ctest counts as
// skipped.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (!testing::GTEST_FLAG(list_tests) && (status != cudaSuccess || devices == 0)) {
    std::printf("no CUDA device (%s): the tests in tests/cuda did not run\n",
                cudaGetErrorString(status));
    return 77;
  }
  return RUN_ALL_TESTS();
}
