#pragma once
// Reads the catalogue, a list of recommended models. It is the file models/catalogue.json, which is
// installed with the program.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace longhaul {

struct CatalogueEntry {
  std::string name;
  std::string repository, file;  ///< repository on the hub (huggingface.co), and file in it
  int64_t bytes = 0;             ///< approximate size of the file
  int64_t context = 0;           ///< trained context in tokens
  std::string languages, licence;
  std::string good_for;  ///< sizes of a machine's memory for which the model is suitable
};

/// Reads the catalogue. The result is empty if the file does not exist. Throws a UserError that
/// names the file and the entry if an entry is invalid.
std::vector<CatalogueEntry> read_catalogue();

/// Parses the text of a catalogue. `file` is the name of the file, for error messages.
std::vector<CatalogueEntry> parse_catalogue(const std::string& text, const std::string& file);

/// Returns a text for the end of an error message, such as "; 'longhaul pull' has llama3.2-3b,
/// llama3.2-1b". It lists the entries whose names resemble `name`, and is empty if there are none.
std::string catalogue_hint(const std::string& name);

std::optional<CatalogueEntry> find_in_catalogue(const std::string& name);

}  // namespace longhaul
