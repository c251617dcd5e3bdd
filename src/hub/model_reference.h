#pragma once
// References to models that are not on this machine.

#include <optional>
#include <string>

namespace longhaul {

/// OWNER/REPO[:FILE or quantization] on the hub, or a URL.
struct ModelReference {
  std::string repository;  ///< "OWNER/REPO"; empty if it is a URL
  std::string choice;      ///< a file's name, or a type such as Q4_K_M; empty: the default
  std::string url;
};

/// Parses "hf:OWNER/REPO[:...]" and "https://..."; empty for anything else. A page of the hub
/// (https://huggingface.co/OWNER/REPO, also with /blob/main/FILE or /resolve/main/FILE) is treated
/// as the repository. Throws UserError if "hf:" is not followed by a repository.
std::optional<ModelReference> parse_reference(const std::string& text);

/// Address of the hub: $HF_ENDPOINT, or the default; without a trailing slash.
std::string hub_endpoint();

}  // namespace longhaul
