#include "base/host_stage.h"

namespace longhaul {

void* HostStage::bring(void* device, size_t bytes, bool written) {
  auto* const begin = static_cast<std::byte*>(device);
  for (Copy& copy : copies_) {
    if (begin + bytes <= copy.device || copy.device + copy.bytes <= begin) continue;
    LH_ASSERT(begin >= copy.device && begin + bytes <= copy.device + copy.bytes);
    copy.written = copy.written || written;
    return copy.host.get() + (begin - copy.device);
  }
  copies_.push_back({begin, bytes, std::make_unique_for_overwrite<std::byte[]>(bytes), written});
  void* const host = copies_.back().host.get();
  if (bytes > 0) queue_->device().download(device, host, bytes);
  return host;
}

void HostStage::write_back() {
  for (Copy& copy : copies_) {
    if (copy.written && copy.bytes > 0) {
      queue_->device().upload(copy.host.get(), copy.device, copy.bytes);
    }
  }
}

}  // namespace longhaul
