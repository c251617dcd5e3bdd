#include "ops/core/gpu/nccl.gpu.h"

#include "ops/core/gpu/shared_library.h"

namespace longhaul::cuda {
namespace {

constexpr const char* kNcclNames[] = {"libnccl.so.2"};
constexpr const char* kNcclPackages[] = {"nccl/lib"};

NcclLibrary load_nccl() {
  const SharedLibrary library(
      {kNcclNames, kNcclPackages,
       "install NVIDIA's NCCL (libnccl2, or the PyPI package nvidia-nccl-cu13)"});
  NcclLibrary l{};
  l.path = library.path();
  library.take("ncclCommInitAll", l.init_all);
  library.take("ncclCommDestroy", l.destroy);
  library.take("ncclCommAbort", l.abort);
  library.take("ncclAllReduce", l.all_reduce);
  library.take("ncclAllGather", l.all_gather);
  library.take("ncclGetErrorString", l.error_text);
  library.take("ncclGetVersion", l.get_version);
  l.get_version(&l.version);
  return l;
}

}  // namespace

const NcclLibrary& open_nccl() {
  static const NcclLibrary opened = load_nccl();
  return opened;
}

}  // namespace longhaul::cuda
