#pragma once
// Stores responses of the Responses API. A client may read a stored response again, or continue its
// conversation, by the id of the response.

#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace longhaul::serve {

/// Keeps the most recently used responses in memory. Responses are stored as JSON texts, so that
/// their size is known. A client sees only responses of its own API key.
class ResponseStore {
 public:
  struct Entry {
    std::string response;  ///< response as the client received it
    std::string input;     ///< list of input items, for GET .../input_items
    std::string messages;  ///< messages of the conversation and the reply, without "instructions"
  };

  explicit ResponseStore(size_t most = 256, size_t most_bytes = size_t{64} << 20)
      : most_(most), most_bytes_(most_bytes) {}

  /// Stores an entry. Removes the least recently used entries if there is no room. An entry that is
  /// larger than the limit of the store is not stored.
  void keep(const std::string& key, const std::string& id, Entry entry);
  /// Returns the entry with this id of this API key. Returns null if it was never stored or has
  /// been removed.
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
