#pragma once
// Parses references to models that are not on this machine.

#include <optional>
#include <string>

namespace longhaul {

/// A model on the hub (OWNER/REPO[:FILE or quantization]), or a URL.
struct ModelReference {
  std::string repository;  ///< "OWNER/REPO"; empty: the reference is a URL
  std::string choice;      ///< name of a file, or a type such as Q4_K_M; empty: the default
  std::string url;
};

/// Parses "hf:OWNER/REPO[:...]" and "https://...". The result is empty for any other text. A page
/// of the hub (https://huggingface.co/OWNER/REPO, also with /blob/main/FILE or /resolve/main/FILE)
/// is treated as the repository. Throws UserError if "hf:" is not followed by a repository.
std::optional<ModelReference> parse_reference(const std::string& text);

/// Returns the address of the hub without a trailing slash: $HF_ENDPOINT, or the default.
std::string hub_endpoint();

}  // namespace longhaul
