// Sessions that are created and destroyed, as by a harness. The process must not grow with their
// number.

#include <gtest/gtest.h>

#include "base/system_info.h"
#include "engine/session.h"

namespace longhaul {
namespace {

std::vector<int32_t> prompt(int64_t tokens, int salt) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < tokens; ++i)
    ids.push_back(static_cast<int32_t>(10 + (i * 37 + salt) % 4000));
  return ids;
}

// Sanitizer allocators keep freed memory for a while to detect its use.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kMayGrow = size_t{256} << 20;  // bytes
#else
constexpr size_t kMayGrow = size_t{6} << 20;
#endif

TEST(ManySessions, LeaveTheirMemoryToTheNext) {
  const auto engine = Engine::open(std::filesystem::path(LONGHAUL_MODELS) / "nano");
  const auto ask = [&](int i) {
    Session session(engine, {});
    ASSERT_TRUE(session.prefill(prompt(1000 + i * 7 % 90, i)));
    session.decode(500);
  };
  for (int i = 0; i < 4; ++i) ask(i);
  const size_t before = anonymous_resident_bytes();
  for (int i = 4; i < 14; ++i) ask(i);
  EXPECT_LT(anonymous_resident_bytes(), before + kMayGrow);
}

}  // namespace
}  // namespace longhaul
