#pragma once
// Defines API keys and their limits. They are read from a file, which contains the SHA-256 of each
// key instead of the key.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace longhaul::serve {

struct ApiKey {
  std::string name;
  std::string sha256;  ///< 64 lower-case hexadecimal digits
  int running = 0;     ///< largest number of requests that run at the same time; 0: no limit
  int queued = 0;
};

class ApiKeys {
 public:
  /// Reads lines of the form "NAME SHA256 [running=N] [queued=N]". A line that begins with # is a
  /// comment. Throws UserError if a line has another form, or if other users may read the file.
  static ApiKeys read(const std::filesystem::path& file);
  static ApiKeys parse(std::string_view text, const std::string& where);

  bool empty() const { return keys_.empty(); }
  const std::vector<ApiKey>& keys() const { return keys_; }

  /// Returns the entry for the key in the request's header `Authorization: Bearer` or `X-Api-Key`.
  /// Returns null if the request has no key, or if the key is not in the file. The check takes the
  /// same time for all wrong keys.
  const ApiKey* find(const http::HttpRequest& request) const;

 private:
  std::vector<ApiKey> keys_;
};

}  // namespace longhaul::serve
