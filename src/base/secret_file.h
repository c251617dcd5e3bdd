#pragma once
// Files with secrets, such as API keys and private keys.

#include <filesystem>
#include <string>

namespace longhaul {

/// Throws UserError, which begins with `where`, if the file cannot be read, if it belongs to
/// another user than root and the own user, or if users may access it for whom it is not meant. A
/// group may read a file of root, as systemd's credentials and files of the group ssl-cert allow.
void check_secret_file(const std::filesystem::path& file, const std::string& where);

}  // namespace longhaul
