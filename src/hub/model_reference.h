#pragma once
// Parses references to models that can be downloaded.

#include <optional>
#include <string>

namespace longhaul {

/// A model on the hub (OWNER/REPO[:FILE or quantization]), or a URL.
struct ModelReference {
  std::string repository;  ///< "OWNER/REPO"; empty: the reference is a URL
  /// Name of a file, or a quantization type such as Q4_K_M; empty: choose_files() decides.
  std::string choice;
  std::string url;
};

/// Parses "hf:OWNER/REPO[:...]" or "https://...". Returns nothing for any other text. The URL of a
/// page of the hub (https://huggingface.co/OWNER/REPO, also with /blob/main/FILE or
/// /resolve/main/FILE) becomes a reference to the repository. Throws UserError if "hf:" is not
/// followed by a repository.
std::optional<ModelReference> parse_reference(const std::string& text);

/// Returns the URL of the hub without a slash at its end: the value of $HF_ENDPOINT, or
/// https://huggingface.co.
std::string hub_endpoint();

}  // namespace longhaul
