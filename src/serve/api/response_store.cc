#include "serve/api/response_store.h"

#include <algorithm>
#include <utility>

namespace longhaul::serve {

std::list<ResponseStore::Kept>::iterator ResponseStore::place(const std::string& key,
                                                              const std::string& id) {
  return std::find_if(kept_.begin(), kept_.end(),
                      [&](const Kept& kept) { return kept.id == id && kept.key == key; });
}

void ResponseStore::keep(const std::string& key, const std::string& id, Entry entry) {
  const size_t bytes = entry.response.size() + entry.input.size() + entry.messages.size();
  if (bytes > most_bytes_) return;
  auto shared = std::make_shared<const Entry>(std::move(entry));
  const std::lock_guard lock(mutex_);
  kept_.push_back({key, id, std::move(shared), bytes});
  bytes_ += bytes;
  while (kept_.size() > most_ || bytes_ > most_bytes_) {
    bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
}

std::shared_ptr<const ResponseStore::Entry> ResponseStore::find(const std::string& key,
                                                                const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = place(key, id);
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.end(), kept_, found);
  return found->entry;
}

bool ResponseStore::erase(const std::string& key, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = place(key, id);
  if (found == kept_.end()) return false;
  bytes_ -= found->bytes;
  kept_.erase(found);
  return true;
}

}  // namespace longhaul::serve
