#include "ops/core/gpu/cublas_library.h"

#include <mutex>

#include "base/error.h"
#include "ops/core/gpu/shared_library.h"

namespace longhaul::cuda {
namespace {

constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr const char* kGroupedNames[] = {"libcublas.so.13", "libcublas.so.12"};
constexpr const char* kPackages[] = {"cu13/lib", "cublas/lib"};
constexpr const char* kRemedy =
    "install NVIDIA's cuBLAS (of a CUDA toolkit, or the PyPI package nvidia-cublas)";

CublasLibrary load() {
  const SharedLibrary library({kNames, kPackages, kRemedy});
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

GroupedLibrary load_grouped() {
  const SharedLibrary library({kGroupedNames, kPackages, kRemedy});
  GroupedLibrary l{};
  l.path = library.path();
  library.take("cublasCreate_v2", l.create);
  library.take("cublasDestroy_v2", l.destroy);
  library.take("cublasSetStream_v2", l.set_stream);
  library.take("cublasSetWorkspace_v2", l.set_workspace);
  library.take("cublasGemmGroupedBatchedEx", l.multiply);
  return l;
}

}  // namespace

const CublasLibrary& open_cublas() {
  static std::mutex mutex;
  static std::unique_ptr<CublasLibrary> opened;  // the first library found serves all callers
  const std::lock_guard lock(mutex);
  if (opened == nullptr) opened = std::make_unique<CublasLibrary>(load());
  return *opened;
}

const GroupedLibrary& open_grouped_cublas() {
  static const GroupedLibrary opened = load_grouped();
  return opened;
}

void require_cublas(const std::string& path, int status, const char* what) {
  if (status == lt::kSuccess) return;
  throw std::runtime_error(fmt::format("{}: {} fails with status {}", path, what, status));
}

}  // namespace longhaul::cuda
