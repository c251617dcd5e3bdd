#include "ops/cuda/cublas_library.h"

#include <mutex>

#include "ops/cuda/shared_library.h"

namespace longhaul::cuda {
namespace {

constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr const char* kPackages[] = {"cu13/lib", "cublas/lib"};

CublasLibrary load() {
  const SharedLibrary library({kNames, kPackages,
                               "install NVIDIA's cuBLAS (of a CUDA toolkit, or the PyPI package "
                               "nvidia-cublas)"});
  CublasLibrary l{};
  l.path = library.path();
  const auto get = [&](const char* name, auto& function) { library.take(name, function); };
  get("cublasLtCreate", l.create);
  get("cublasLtDestroy", l.destroy);
  get("cublasLtMatmulDescCreate", l.create_operation);
  get("cublasLtMatmulDescDestroy", l.destroy_operation);
  get("cublasLtMatmulDescSetAttribute", l.set_operation);
  get("cublasLtMatrixLayoutCreate", l.create_layout);
  get("cublasLtMatrixLayoutSetAttribute", l.set_layout);
  get("cublasLtMatrixLayoutDestroy", l.destroy_layout);
  get("cublasLtMatmulPreferenceCreate", l.create_preference);
  get("cublasLtMatmulPreferenceDestroy", l.destroy_preference);
  get("cublasLtMatmulPreferenceSetAttribute", l.set_preference);
  get("cublasLtMatmulAlgoGetHeuristic", l.find);
  get("cublasLtMatmul", l.multiply);
  get("cublasLtGetVersion", l.get_version);
  l.version = l.get_version();
  return l;
}

}  // namespace

const CublasLibrary& open_cublas() {
  static std::mutex mutex;
  static std::unique_ptr<CublasLibrary> opened;  // the first that was found serves all
  const std::lock_guard lock(mutex);
  if (opened == nullptr) opened = std::make_unique<CublasLibrary>(load());
  return *opened;
}

}  // namespace longhaul::cuda
