#pragma once
// Recommended models: models/catalogue.json beside the program.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace longhaul {

struct CatalogueEntry {
  std::string name;
  std::string repository, file;  ///< on the hub
  int64_t bytes = 0;             ///< approximate size
  int64_t context = 0;           ///< trained context in tokens
  std::string languages, licence;
  std::string good_for;  ///< suitable memory sizes
};

/// Throws UserError with file and entry; empty if there is no such file.
std::vector<CatalogueEntry> read_catalogue();

/// Parses the text of a file of that name.
std::vector<CatalogueEntry> parse_catalogue(const std::string& text, const std::string& file);

/// "; 'longhaul pull' has llama3.2-3b, llama3.2-1b": entries with names like `name`; empty: none.
std::string catalogue_hint(const std::string& name);

std::optional<CatalogueEntry> find_in_catalogue(const std::string& name);

}  // namespace longhaul
