#include "kv/shared_pages.h"

#include <map>
#include <mutex>
#include <tuple>

#include "kv/device_pages.h"
#include "kv/page_pool.h"

namespace longhaul {
namespace {

/// The device (null: the host), the size of a page in bytes, and whether kernels address pages by
/// number.
using PoolKey = std::tuple<const DeviceQueue*, size_t, bool>;

struct SharedPools {
  std::mutex mutex;
  std::map<PoolKey, std::weak_ptr<PageMemory>> pools;
};

SharedPools& shared_pools() {
  static SharedPools pools;
  return pools;
}

const DeviceQueue* device_of(const Queue& queue) {
  return queue.on_host() ? nullptr : &queue.device();
}

}  // namespace

std::shared_ptr<PageMemory> shared_pages(const RowForm& form, const Queue& queue) {
  constexpr int kMostNumbered = 256;  // kernels of wider heads read pages by address
  const bool numbered = !queue.on_host() && form.type == DType::BF16 &&
                        form.head_dim <= kMostNumbered && !form.values_in_keys;
  const PoolKey key{device_of(queue), form.page_bytes(), numbered};
  SharedPools& all = shared_pools();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.pools, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<PageMemory>& known = all.pools[key];
  std::shared_ptr<PageMemory> pool = known.lock();
  if (pool != nullptr) return pool;
  if (queue.on_host()) {
    pool = std::make_shared<PagePool>(form.page_bytes());
  } else {
    pool = std::make_shared<DevicePages>(queue, form.page_bytes(), numbered);
  }
  known = pool;
  return pool;
}

size_t shared_page_bytes_in_use(const Queue& queue) {
  SharedPools& all = shared_pools();
  const std::lock_guard lock(all.mutex);
  size_t bytes = 0;
  for (const auto& [key, known] : all.pools) {
    if (std::get<0>(key) != device_of(queue)) continue;
    if (const auto pool = known.lock()) bytes += pool->pages_in_use() * pool->page_bytes();
  }
  return bytes;
}

}  // namespace longhaul
