#pragma once
// Replies of the Responses API that clients may read again, or continue by their id.

#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace longhaul::serve {

/// Keeps the most recent responses in memory, as JSON texts, so that their bytes are known. A
/// client sees only those of its own API key.
class ResponseStore {
 public:
  struct Entry {
    std::string response;  ///< as the client received it
    std::string input;     ///< list of items, for GET .../input_items
    std::string messages;  ///< the conversation with the reply, without instructions
  };

  explicit ResponseStore(size_t most = 256, size_t most_bytes = size_t{64} << 20)
      : most_(most), most_bytes_(most_bytes) {}

  /// Drops older ones if there is no room. An entry larger than the store is not kept.
  void keep(const std::string& key, const std::string& id, Entry entry);
  /// Null if there is none, or none any more.
  std::shared_ptr<const Entry> find(const std::string& key, const std::string& id);
  bool erase(const std::string& key, const std::string& id);

 private:
  struct Kept {
    std::string key, id;
    std::shared_ptr<const Entry> entry;
    size_t bytes;
  };
  std::list<Kept>::iterator place(const std::string& key, const std::string& id);

  const size_t most_, most_bytes_;
  std::mutex mutex_;
  std::list<Kept> kept_;  ///< least recently used first
  size_t bytes_ = 0;
};

}  // namespace longhaul::serve
