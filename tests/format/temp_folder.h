#pragma once
// A folder that is gone after the test, and what a call complains about.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace longhaul::testing_support {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "longhaul-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view contents) const {
    std::ofstream(path_ / name, std::ios::binary) << contents;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// The message of the UserError that `call` throws; fails the test when it throws none or one that
/// is not a single line.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "no UserError was thrown";
  return {};
}

/// True when `message` holds each of `parts`.
inline ::testing::AssertionResult has(const std::string& message,
                                      std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (message.find(part) == std::string::npos) {
      return ::testing::AssertionFailure() << "'" << part << "' is not in: " << message;
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace longhaul::testing_support
