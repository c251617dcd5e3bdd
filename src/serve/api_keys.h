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
  /// Lines "NAME SHA256 [running=N] [queued=N]"; # begins a comment. Throws UserError where a line
  /// is none of these, or where other users may read the file.
  static ApiKeys read(const std::filesystem::path& file);
  static ApiKeys parse(std::string_view text, const std::string& where);

  bool empty() const { return keys_.empty(); }
  const std::vector<ApiKey>& keys() const { return keys_; }

  /// The key that the request has in `Authorization: Bearer` or `X-Api-Key`; null where it has none
  /// or a wrong one. Takes the same time for every wrong one.
  const ApiKey* find(const http::HttpRequest& request) const;

 private:
  std::vector<ApiKey> keys_;
};

}  // namespace longhaul::serve
