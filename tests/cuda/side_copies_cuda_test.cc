// Copies between a GPU and pinned host memory beside the GPU's queue, and sequences that move to
// the host and back.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "attention/settings.h"
#include "attention/test_name.h"
#include "base/side_copies.h"
#include "engine/model_runner.h"
#include "engine/prefill.h"
#include "engine/sequence_copy.h"
#include "queued.h"

namespace longhaul::cuda {
namespace {

constexpr size_t kBlock = SideCopies::kBlockBytes;

class CudaSideCopies : public OnQueue {
 protected:
  std::unique_ptr<SideCopies> copies_ = (*queue().device().operations().find(kSideCopies))();
};

std::vector<uint8_t> pattern(size_t bytes, uint32_t seed) {
  std::vector<uint8_t> values(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    values[i] = static_cast<uint8_t>((i * 2654435761u + seed) >> 13);
  }
  return values;
}

/// Pieces of many sizes, also odd ones, in shuffled order of device memory.
TEST_F(CudaSideCopies, ScatteredPiecesGoToTheHostAndBack) {
  const std::vector<uint8_t> values = pattern(kBlock / 2, 1);
  const View<uint8_t> from = there(values);
  const View<uint8_t> to = empty_there<uint8_t>(from.size());
  std::byte* const block = copies_->allocate_block();
  std::memset(block, 0xEE, kBlock);
  std::vector<DeviceBytes> down, up;
  std::vector<std::pair<size_t, size_t>> parts;  // offset, bytes
  const size_t sizes[] = {32768, 128, 4096, 7, 65536, 288, 1 << 20};
  size_t end = 0;
  for (size_t i = 0;; ++i) {
    const size_t bytes = sizes[i % std::size(sizes)];
    if (end + bytes > values.size()) break;
    parts.emplace_back(end, bytes);
    end += (bytes + 255) / 256 * 256;
    if (end >= values.size()) break;
  }
  for (size_t i = 0; i < parts.size(); ++i) std::swap(parts[i], parts[i * 7 % parts.size()]);
  size_t at = 0;
  for (const auto& [offset, bytes] : parts) {
    down.push_back({from.address() + offset, block + at, bytes});
    up.push_back({block + at, to.address() + offset, bytes});
    at += (bytes + 15) / 16 * 16;
  }
  copies_->follow_queue();
  copies_->wait_for(copies_->download(down));
  for (size_t i = 0; i < parts.size(); ++i) {
    ASSERT_EQ(std::memcmp(down[i].to, values.data() + parts[i].first, parts[i].second), 0) << i;
  }
  queue().device().clear(to.address(), static_cast<size_t>(to.size()));
  copies_->follow_queue();
  copies_->wait_for(copies_->upload(up));
  const std::vector<uint8_t> got = here(to);
  for (const auto& [offset, bytes] : parts) {
    ASSERT_EQ(std::memcmp(got.data() + offset, values.data() + offset, bytes), 0);
  }
  copies_->release_block(block);
}

/// Copies begin after the work that was queued before follow_queue(), in both directions.
TEST_F(CudaSideCopies, FollowTheQueue) {
  constexpr int64_t kLarge = int64_t{1} << 30;
  const View<uint8_t> large = empty_there<uint8_t>(kLarge);
  const View<uint8_t> small = empty_there<uint8_t>(4096), kept = empty_there<uint8_t>(4096);
  std::byte* const block = copies_->allocate_block();
  for (uint32_t round = 0; round < 4; ++round) {
    const std::vector<uint8_t> values = pattern(4096, round);
    for (int i = 0; i < 20; ++i) queue().device().clear(large.address(), kLarge);
    queue().device().upload(values.data(), small.address(), values.size());
    copies_->follow_queue();
    const DeviceBytes down{small.address(), block, 4096};
    copies_->wait_for(copies_->download({&down, 1}));
    ASSERT_EQ(std::memcmp(block, values.data(), values.size()), 0) << round;
    // Queued work still reads the memory that is then written.
    for (int i = 0; i < 20; ++i) queue().device().clear(large.address(), kLarge);
    queue().device().copy(small.address(), kept.address(), 4096);
    copies_->follow_queue();
    std::memset(block, 0x55, 4096);
    const DeviceBytes up{block, small.address(), 4096};
    copies_->wait_for(copies_->upload({&up, 1}));
    ASSERT_EQ(here(kept), values) << round;
    ASSERT_EQ(here(small), std::vector<uint8_t>(4096, 0x55)) << round;
  }
  copies_->release_block(block);
}

class CudaMovedSequence : public testing::TestWithParam<std::string> {};

TEST_P(CudaMovedSequence, ContinuesWithTheSameBits) {
  const Queue queue = open_device("cuda");
  const bool recurrent = GetParam() == "recurrent";
  const auto engine = Engine::open(std::filesystem::path(LONGHAUL_TEST_DATA) / "tiny_models" /
                                   (recurrent ? "qwen3_next" : "llama_llama3"));
  SessionOptions options;
  options.queue = queue;
  options.chunk = 64;
  options.state_every = 50;
  if (!recurrent) options.attention = MethodSpec::parse(GetParam());
  const auto memory = HostMemory::make(queue, 8 * kBlock);
  ASSERT_NE(memory, nullptr);
  ModelRunner runner(engine, queue, options.compute);
  const auto add = [&](Sequence& sequence, int32_t count, int32_t seed) {
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < count; ++i) tokens.push_back((41 * i * i + 7 * i + seed) % 250);
    PrefillHooks hooks;
    hooks.instruction = 16;
    Prefill prefill(sequence, tokens, hooks);
    while (prefill.step(runner, {}) == PrefillStep::kMore) {
    }
  };
  const auto go_on = [&](Sequence& sequence) {
    std::vector<std::vector<float>> all;
    for (const int32_t token : {5, 17, 99, 3}) {
      runner.decode(sequence, token);
      all.emplace_back(sequence.logits().begin(), sequence.logits().end());
    }
    return all;
  };
  const auto moved = [&](const Sequence& from, bool to_host) {
    SessionOptions other = from.options();
    other.queue = to_host ? Queue() : queue;
    SequenceCopy copy(memory, from, other, {});
    while (!copy.done()) {
      copy.advance(1e-3);
      std::this_thread::yield();
    }
    EXPECT_EQ(copy.error(), "");
    return copy.take();
  };
  std::optional<Sequence> original{std::in_place, engine, options};
  add(*original, 3000, 3);
  runner.decode(*original, 7);
  Sequence clone = original->clone();
  const auto want = go_on(clone);
  const Sequence on_host = moved(*original, true);
  original.reset();
  Sequence other(engine, options);
  add(other, 3500, 9);  // uses the freed pages
  Sequence back = moved(on_host, false);
  EXPECT_EQ(go_on(back), want);
}

std::vector<std::string> moved_settings() {
  std::vector<std::string> all = {"recurrent"};
  for (const testing_support::Small& each :
       testing_support::first_of_each_kind(testing_support::small_settings())) {
    all.push_back(each.spec);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, CudaMovedSequence, testing::ValuesIn(moved_settings()),
                         [](const auto& test) { return testing_support::test_name(test.param); });

}  // namespace
}  // namespace longhaul::cuda
