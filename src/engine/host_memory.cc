#include "engine/host_memory.h"

#include <utility>

#include "kv/store_copy.h"

namespace longhaul {

std::shared_ptr<HostMemory> HostMemory::make(const Queue& queue, size_t most_bytes) {
  if (queue.on_host() || queue.ranks() > 1) return nullptr;
  const auto* const make_copies = queue.device().operations().find(kSideCopies);
  if (make_copies == nullptr) return nullptr;
  std::shared_ptr<SideCopies> copies = (*make_copies)();
  return std::shared_ptr<HostMemory>(new HostMemory(std::move(copies), most_bytes));
}

HostMemory::HostMemory(std::shared_ptr<SideCopies> copies, size_t most_bytes)
    : blocks_(std::make_shared<HostBlocks>(copies, most_bytes)), thread_(copies, blocks_) {}

size_t HostMemory::bytes_in_use() const {
  size_t bytes = blocks_->other_bytes();
  for (const auto& [page_bytes, pages] : pages_) bytes += pages->pages_in_use() * page_bytes;
  return bytes;
}

KvStore HostMemory::make_store(const KvLayout& layout) {
  return StoreCopy::on_host(layout, [this](const RowForm& form) -> std::shared_ptr<PageMemory> {
    std::shared_ptr<PinnedPages>& pages = pages_[form.page_bytes()];
    if (pages == nullptr) pages = std::make_shared<PinnedPages>(blocks_, form.page_bytes());
    return pages;
  });
}

}  // namespace longhaul
