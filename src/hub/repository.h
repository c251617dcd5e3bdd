#pragma once
// Reads the description of a model's repository on the hub: its files with their sizes and hashes,
// and its licence.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"

namespace longhaul {

struct HubFile {
  std::string path;  ///< path within the repository
  int64_t bytes = 0;
  std::string sha256;  ///< empty for small files, for which the hub provides none
};

struct HubRepository {
  std::string name;    ///< name in the form OWNER/REPO
  std::string commit;  ///< most recent commit; all files are downloaded from this commit
  std::string licence;
  std::vector<HubFile> files;
};

/// Returns $HF_TOKEN. The result is empty if it is not set.
std::string hub_token();

/// Requests the description of a repository from the hub. Throws UserError if the repository does
/// not exist or requires a token, if the response is invalid, or if the connection fails.
HubRepository ask_hub(const std::string& repository, const CancelFlag* cancel);

/// Parses the responses of the hub: `about` is the description of the model, and `lists` are the
/// pages of its list of files.
HubRepository read_repository(const std::string& name, const std::string& about,
                              const std::vector<std::string>& lists);

/// Returns the URL of a file.
std::string file_url(const HubRepository& repository, const HubFile& file);

/// Returns a text that explains an HTTP error status of the hub (such as 401 or 404), for error
/// messages.
std::string status_text(long status);

/// The hub splits a long list of files into pages. Returns the URL of the next page from the header
/// Link of a response. The result is empty if there is none.
std::string next_page(std::string_view link);

}  // namespace longhaul
