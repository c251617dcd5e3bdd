#include "hub/model_reference.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Characters allowed by the hub: letters, digits, '-', '_' and '.'.
bool is_plain(std::string_view name) {
  return !name.empty() && !name.starts_with(".") &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ||
                  c == '.';
         });
}

bool is_repository(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != std::string_view::npos && is_plain(text.substr(0, slash)) &&
         is_plain(text.substr(slash + 1));
}

bool is_url(const std::string& text) {
  return text.starts_with("https://") || text.starts_with("http://");
}

/// Parts between slashes.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path.substr(0, path.find_first_of("?#"))) {
    if (c == '/') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  while (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

/// The repository shown by a page of the hub.
std::optional<ModelReference> of_page(const std::string& url) {
  const std::string prefix = hub_endpoint() + "/";
  if (!url.starts_with(prefix)) return std::nullopt;
  const std::vector<std::string> parts = parts_of(url.substr(prefix.size()));
  if (parts.size() < 2 || !is_plain(parts[0]) || !is_plain(parts[1])) return std::nullopt;
  ModelReference reference{parts[0] + "/" + parts[1], "", ""};
  if (parts.size() == 2) {
    if (parts[1].ends_with(".gguf")) return std::nullopt;  // a file, not a repository
    return reference;
  }
  const bool of_main =
      (parts[2] == "blob" || parts[2] == "resolve") && parts.size() > 4 && parts[3] == "main";
  if (!of_main) return std::nullopt;  // another revision: use the URL as it is
  for (size_t i = 4; i < parts.size(); ++i) reference.choice += (i > 4 ? "/" : "") + parts[i];
  return reference;
}

}  // namespace

std::string hub_endpoint() {
  const char* given = std::getenv("HF_ENDPOINT");
  std::string endpoint = given != nullptr && *given != '\0' ? given : "https://huggingface.co";
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (!is_url(endpoint)) user_error("HF_ENDPOINT is {}, which is no URL", printable(endpoint));
  return endpoint;
}

std::optional<ModelReference> parse_reference(const std::string& text) {
  if (is_url(text)) {
    if (const auto page = of_page(text)) return page;
    return ModelReference{"", "", text};
  }
  if (!text.starts_with("hf:")) return std::nullopt;
  const std::string rest = text.substr(3);
  const size_t colon = rest.find(':');
  ModelReference reference{rest.substr(0, colon), "", ""};
  if (colon != std::string::npos) reference.choice = rest.substr(colon + 1);
  if (!is_repository(reference.repository)) {
    user_error("{}: hf: is followed by OWNER/REPO[:FILE or quantization]", printable(text));
  }
  return reference;
}

}  // namespace longhaul
