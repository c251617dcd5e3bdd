// A decode step allocates no memory in any method, except for a new page of a list or a new block
// of an index. The count is made in malloc itself, which this program replaces.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>

#include "attention/settings.h"
#include "attention/test_name.h"
#include "engine/pass_key_prompt.h"
#include "engine/session.h"
#include "engine/short_nano.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0};
void note() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1);
}
}  // namespace

// glibc's allocator, under the names for programs that replace it.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) {
  note();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  note();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  note();
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  note();
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? 12 : 0;
}
}

namespace longhaul {
namespace {

constexpr int kCountedSteps = 32;

class DecodeAllocation : public ::testing::TestWithParam<std::string> {};

TEST_P(DecodeAllocation, IsNoneInStepsThatAddNoPageAndNoBlock) {
  const auto engine = testing_support::short_nano();
  SessionOptions options;
  options.attention = MethodSpec::parse(GetParam());
  options.chunk = 64;
  Session session(engine, options);
  const std::vector<int32_t> tokens = testing_support::early_pass_key(*engine);
  PrefillHooks hooks;
  hooks.instruction = 16;
  ASSERT_TRUE(session.prefill(tokens, hooks));
  // Memory has reached the size that steps need.
  for (int i = 0; i < 70; ++i) session.decode(tokens[20]);
  std::map<int64_t, int> steps;  // steps by number of allocations
  for (int i = 0; i < kCountedSteps; ++i) {
    allocations = 0;
    counting = true;
    session.decode(tokens[20]);
    counting = false;
    ++steps[allocations];
  }
  // Each list fills a page once in 64 steps; lists of different lengths do so in different steps. A
  // block of text (4 tokens here) that leaves the window enters an index, which grows.
  std::string all;
  for (const auto& [count, times] : steps) all += fmt::format("{} x {}  ", times, count);
  EXPECT_GE(steps[0], kCountedSteps * 3 / 8) << all;
}

TEST_P(DecodeAllocation, IsNoneInBatchesThatAddNoPageAndNoBlock) {
  const auto engine = testing_support::short_nano();
  SessionOptions options;
  options.attention = MethodSpec::parse(GetParam());
  options.chunk = 64;
  ModelRunner runner(engine, {}, Compute::kBest);
  const std::vector<int32_t> tokens = testing_support::early_pass_key(*engine);
  PrefillHooks hooks;
  hooks.instruction = 16;
  std::vector<Sequence> sequences;
  sequences.emplace_back(engine, options);
  ASSERT_TRUE(prefill(sequences.front(), runner, tokens, hooks));
  for (int i = 0; i < 2; ++i) sequences.push_back(sequences.front().clone());
  std::vector<DecodeRow> rows;
  for (Sequence& each : sequences) rows.push_back({&each, tokens[20]});
  for (int i = 0; i < 70; ++i) runner.decode(rows);
  std::map<int64_t, int> steps;
  for (int i = 0; i < kCountedSteps; ++i) {
    allocations = 0;
    counting = true;
    runner.decode(rows);
    counting = false;
    ++steps[allocations];
  }
  std::string all;
  for (const auto& [count, times] : steps) all += fmt::format("{} x {}  ", times, count);
  EXPECT_GE(steps[0], kCountedSteps * 3 / 8) << all;
}

std::vector<std::string> one_of_each() {
  std::vector<std::string> all;
  for (const MethodInfo& info : attention_methods()) {
    all.push_back(testing_support::with_options(info, info.small.back().options));
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, DecodeAllocation, ::testing::ValuesIn(one_of_each()),
                         [](const auto& tested) {
                           return testing_support::test_name(tested.param);
                         });

}  // namespace
}  // namespace longhaul

#endif
