#pragma once
// Error messages of calls, for tests.

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace longhaul::testing_support {

/// Returns the message of the UserError that `call` throws, or "" if it throws none. Fails the test
/// if the message is not a single line.
template <class Call>
std::string error_if_any(Call&& call) {
  try {
    call();
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  return {};
}

/// Like error_if_any(), for a call that must throw: fails the test if it does not.
template <class Call>
std::string error_of(Call&& call) {
  const std::string message = error_if_any(call);
  EXPECT_NE(message, "") << "no UserError was thrown";
  return message;
}

/// Whether `message` contains each of `parts`.
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
