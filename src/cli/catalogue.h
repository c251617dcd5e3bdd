#pragma once
// The list of recommended models, models/catalogue.json, which is installed with the program.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace longhaul {

struct CatalogueEntry {
  std::string name;
  std::string repository, file;  ///< repository and file on the hub
  int64_t bytes = 0;             ///< approximate size of the file
  int64_t context = 0;           ///< trained context in tokens
  std::string languages, licence;
  std::string good_for;  ///< memory sizes for which the model is suitable
};

/// Reads the catalogue. Throws UserError that names file and entry. The result is empty if there is
/// no such file.
std::vector<CatalogueEntry> read_catalogue();

/// Parses the text of a catalogue. `file` is the name of the file, for error messages.
std::vector<CatalogueEntry> parse_catalogue(const std::string& text, const std::string& file);

/// Returns a text such as "; 'longhaul pull' has llama3.2-3b, llama3.2-1b" with entries whose names
/// resemble `name`. The result is empty if there are none.
std::string catalogue_hint(const std::string& name);

std::optional<CatalogueEntry> find_in_catalogue(const std::string& name);

}  // namespace longhaul
