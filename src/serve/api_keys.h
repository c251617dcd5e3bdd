#pragma once
// API keys: their SHA-256 and limits, from a file.

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
  int running = 0;     ///< most requests that run; 0: no limit of its own
  int queued = 0;
};

class ApiKeys {
 public:
  /// Reads lines "NAME SHA256 [running=N] [queued=N]"; # begins a comment. Throws UserError if a
  /// line has another form, or if other users may read the file.
  static ApiKeys read(const std::filesystem::path& file);
  static ApiKeys parse(std::string_view text, const std::string& where);

  bool empty() const { return keys_.empty(); }
  const std::vector<ApiKey>& keys() const { return keys_; }

  /// The key that the request has in `Authorization: Bearer` or `X-Api-Key`; null if it has none or
  /// a wrong one. The check needs equal time for all wrong keys.
  const ApiKey* find(const http::HttpRequest& request) const;

 private:
  std::vector<ApiKey> keys_;
};

}  // namespace longhaul::serve
