#pragma once
// Stores replies of the Responses API. Clients may read them again or continue them by their id.

#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace longhaul::serve {

/// Keeps the most recent responses in memory. Responses are stored as JSON texts, so that their
/// size is known. A client sees only responses of its own API key.
class ResponseStore {
 public:
  struct Entry {
    std::string response;  ///< response as the client received it
    std::string input;     ///< list of input items, for GET .../input_items
    std::string messages;  ///< conversation including the reply, without instructions
  };

  explicit ResponseStore(size_t most = 256, size_t most_bytes = size_t{64} << 20)
      : most_(most), most_bytes_(most_bytes) {}

  /// Stores an entry. Drops older entries if there is no room. An entry larger than the store is
  /// not kept.
  void keep(const std::string& key, const std::string& id, Entry entry);
  /// Returns the entry, or null if it does not exist or has been dropped.
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
  std::list<Kept> kept_;  ///< least recently used entry first
  size_t bytes_ = 0;
};

}  // namespace longhaul::serve
