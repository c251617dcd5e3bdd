#include "serve/api_keys.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/secret_file.h"
#include "hub/sha256.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

bool is_digest(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

ApiKey parse_key(const std::string& line, const std::string& where) {
  std::istringstream words(line);
  ApiKey key;
  words >> key.name >> key.sha256;
  if (!is_digest(key.sha256)) {
    user_error(
        "{}: a line is NAME, the key's SHA-256 in 64 lower-case digits, and perhaps "
        "running=N queued=N",
        where);
  }
  for (std::string word; words >> word;) {
    int* const limit = word.starts_with("running=")  ? &key.running
                       : word.starts_with("queued=") ? &key.queued
                                                     : nullptr;
    if (limit == nullptr || !parse_number(word.substr(word.find('=') + 1), *limit) || *limit < 1) {
      user_error("{}: {} is neither running=N nor queued=N", where, printable(word));
    }
  }
  return key;
}

std::string digest_of(std::string_view text) {
  Sha256 hash;
  hash.add({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  return hash.hex();
}

bool equal_in_constant_time(const std::string& a, const std::string& b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

std::string_view given_key(const http::HttpRequest& request) {
  const std::string_view authorization = request.field("Authorization");
  if (authorization.size() > 7 && http::equal_but_case(authorization.substr(0, 7), "Bearer ")) {
    return authorization.substr(7);
  }
  return request.field("X-Api-Key");
}

}  // namespace

ApiKeys ApiKeys::parse(std::string_view text, const std::string& where) {
  ApiKeys keys;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    keys.keys_.push_back(parse_key(line, fmt::format("{}:{}", where, number)));
  }
  if (keys.empty()) user_error("{}: it holds no key", where);
  return keys;
}

ApiKeys ApiKeys::read(const std::filesystem::path& file) {
  const std::string where = "--api-key-file " + file.string();
  check_secret_file(file, where);
  std::ifstream stream(file);
  if (!stream) user_error("{}: it cannot be read", where);
  std::ostringstream text;
  text << stream.rdbuf();
  return parse(text.str(), where);
}

const ApiKey* ApiKeys::find(const http::HttpRequest& request) const {
  const std::string digest = digest_of(given_key(request));
  const ApiKey* found = nullptr;
  for (const ApiKey& key : keys_) {
    if (equal_in_constant_time(key.sha256, digest)) found = &key;
  }
  return found;
}

}  // namespace longhaul::serve
