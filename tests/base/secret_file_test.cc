// Which modes a file with secrets may have.

#include "base/secret_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error_of.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::error_if_any;
using testing_support::TempFolder;

std::string refusal_of_mode(int mode) {
  const TempFolder folder;
  const fs::path file = folder.write("secret", "secret");
  fs::permissions(file, static_cast<fs::perms>(mode));
  return error_if_any([&] { check_secret_file(file, "--tls-key"); });
}

TEST(SecretFile, MayBeReadByItsOwnerAlone) {
  EXPECT_EQ(refusal_of_mode(0600), "");
  EXPECT_EQ(refusal_of_mode(0400), "");
  for (const int mode : {0644, 0604, 0660, 0602}) {
    EXPECT_NE(refusal_of_mode(mode).find("chmod 600"), std::string::npos) << mode;
  }
}

TEST(SecretFile, OfRootMayBeReadByAGroup) {
  for (const int mode : {0440, 0640}) EXPECT_EQ(refusal_of_mode(mode).empty(), geteuid() == 0);
}

TEST(SecretFile, MustExist) {
  EXPECT_EQ(error_if_any([] { check_secret_file("/nowhere/key", "--tls-key"); }),
            "--tls-key: it cannot be read");
}

}  // namespace
}  // namespace longhaul
