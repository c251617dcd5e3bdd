// A build without CUDA (-DLONGHAUL_CUDA=OFF, the default).

#include "ops/core/devices.h"

#include "base/error.h"

namespace longhaul {
namespace {

constexpr const char* kWhy =
    "this program was built without CUDA; build it with -DLONGHAUL_CUDA=ON (preset cuda)";

}  // namespace

Devices find_devices() {
  Devices none;
  none.why = kWhy;
  return none;
}

std::string find_collectives() { return {}; }

Queue open_device(std::string_view name) {
  if (name == "auto" || name == "cpu") return {};
  if (name == "cuda" || name.starts_with("cuda:")) user_error("--device {}: {}", name, kWhy);
  user_error("--device {}: must be auto, cpu, cuda, cuda:N or cuda:N,M", name);
}

}  // namespace longhaul
