#pragma once
// What a call complains about, for tests of messages.

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace longhaul::testing_support {

/// The message of the UserError that `call` throws, "" when it throws none; fails the test when it
/// is not a single line.
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

/// The same for a call that must throw: fails the test when it does not.
template <class Call>
std::string error_of(Call&& call) {
  const std::string message = error_if_any(call);
  EXPECT_NE(message, "") << "no UserError was thrown";
  return message;
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
