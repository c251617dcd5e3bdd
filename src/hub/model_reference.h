#pragma once
// What people name a model by that is not on this machine.

#include <optional>
#include <string>

namespace longhaul {

/// OWNER/REPO[:FILE or quantization] of the hub, or a URL.
struct ModelReference {
  std::string repository;  ///< "OWNER/REPO"; empty: a URL
  std::string choice;      ///< a file's name, or a type such as Q4_K_M; empty: a usual one
  std::string url;
};

/// "hf:OWNER/REPO[:...]", "https://...": empty for anything else. A page of the hub
/// (https://huggingface.co/OWNER/REPO, also with /blob/main/FILE or /resolve/main/FILE) is taken as
/// the repository. Throws UserError: "hf:" before what is no repository.
std::optional<ModelReference> parse_reference(const std::string& text);

/// Where the hub is: $HF_ENDPOINT, else its own address; without a slash at the end.
std::string hub_endpoint();

}  // namespace longhaul
