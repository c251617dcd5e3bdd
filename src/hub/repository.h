#pragma once
// A model's repository on the hub: its files with their sizes and hashes, and its licence.

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
  std::string commit;  ///< commit at the time of the query; all files are of this revision
  std::string licence;
  std::vector<HubFile> files;
};

/// Returns $HF_TOKEN. The result is empty if it is not set.
std::string hub_token();

/// Queries the hub for a repository. Throws UserError if the repository does not exist or requires
/// a token, if the response is invalid, or if the connection fails.
HubRepository ask_hub(const std::string& repository, const CancelFlag* cancel);

/// Parses the responses of the hub: `about` is the description of the model, and `lists` are the
/// pages of its list of files.
HubRepository read_repository(const std::string& name, const std::string& about,
                              const std::vector<std::string>& lists);

/// Returns the URL of a file.
std::string file_url(const HubRepository& repository, const HubFile& file);

/// Returns the meaning of an HTTP error status (401, 403, 404, 429 and others) for messages.
std::string status_text(long status);

/// Returns the address of the next page in a Link header. The result is empty if there is none.
std::string next_page(std::string_view link);

}  // namespace longhaul
