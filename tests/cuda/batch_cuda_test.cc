// Batched decode on a GPU: each sequence gets the logits that it gets alone, up to rounding.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "attention/settings.h"
#include "base/error.h"
#include "engine/cosine.h"
#include "engine/model_runner.h"
#include "engine/pass_key_prompt.h"
#include "engine/prefill.h"
#include "kv/shared_pages.h"
#include "ops/core/devices.h"

namespace longhaul {
namespace {

using testing_support::cosine_of;

constexpr int kBatchTokens = 12;

struct GpuBatch {
  GpuBatch() {
    const char* const models = std::getenv("LONGHAUL_MODELS");
    engine = Engine::open(std::string(models == nullptr ? LONGHAUL_MODELS : models) + "/nano");
    queue = open_device("cuda");
  }
  SessionOptions options(const std::string& spec, const KvType& type) const {
    SessionOptions made;
    made.attention = MethodSpec::parse(spec);
    made.chunk = 64;
    made.kv_type = type;
    made.queue = queue;
    return made;
  }
  std::shared_ptr<const Engine> engine;
  Queue queue;
};

struct GpuMember {
  std::string name;
  Sequence sequence;
  std::vector<int32_t> tokens;             ///< decoded alone
  std::vector<std::vector<float>> logits;  ///< after each
};

std::vector<std::string> settings_of_nano(const GpuBatch& gpu) {
  std::vector<std::string> all;
  for (const auto& each : testing_support::first_of_each_kind(testing_support::small_settings())) {
    all.push_back(each.spec);
  }
  std::erase_if(all, [&](const std::string& spec) {
    try {
      const Sequence made(gpu.engine, gpu.options(spec, {}));
      return false;
    } catch (const UserError&) {
      return true;
    }
  });
  return all;
}

GpuMember gpu_member(const GpuBatch& gpu, const std::string& spec, const KvType& type,
                     size_t number, ModelRunner& runner) {
  GpuMember member{spec, Sequence(gpu.engine, gpu.options(spec, type)), {}, {}};
  std::vector<int32_t> prompt = testing_support::early_pass_key(*gpu.engine);
  const auto cut = static_cast<std::ptrdiff_t>(number * 37 % 90);
  prompt.erase(prompt.begin() + 100, prompt.begin() + 100 + cut);
  PrefillHooks hooks;
  hooks.instruction = 16;
  EXPECT_TRUE(prefill(member.sequence, runner, prompt, hooks));
  Sequence alone = member.sequence.clone();
  for (int i = 0; i < kBatchTokens; ++i) {
    const auto best = std::ranges::max_element(alone.logits());
    member.tokens.push_back(static_cast<int32_t>(best - alone.logits().begin()));
    runner.decode(alone, member.tokens.back());
    member.logits.emplace_back(alone.logits().begin(), alone.logits().end());
  }
  return member;
}

/// Returns the least cosine of logits.
double decode_members(std::vector<GpuMember>& members, ModelRunner& runner) {
  double least = 1;
  for (size_t step = 0; step < kBatchTokens; ++step) {
    std::vector<DecodeRow> rows;
    for (GpuMember& each : members) rows.push_back({&each.sequence, each.tokens[step]});
    runner.decode(rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].failed) std::rethrow_exception(rows[i].failed);
      const double alike = cosine_of(members[i].sequence.logits(), members[i].logits[step]);
      EXPECT_GT(alike, 0.98) << members[i].name << " in a batch of " << rows.size() << ", token "
                             << step;
      least = std::min(least, alike);
    }
  }
  return least;
}

TEST(BatchOnTheGpu, OfEverySettingGivesTheLogitsOfEachAlone) {
  GpuBatch gpu;
  const std::vector<std::string> settings = settings_of_nano(gpu);
  ASSERT_GT(settings.size(), 25u);
  constexpr size_t kSizes[] = {2, 3, 8, 9, 17};
  const KvType types[] = {{}, KvType(DType::F32), KvType(DType::Q8_0)};
  ModelRunner runner(gpu.engine, gpu.queue, Compute::kBest);
  size_t next = 0;
  double least = 1;
  for (size_t batch = 0; next < settings.size(); ++batch) {
    std::vector<GpuMember> members;
    for (size_t i = 0; i < kSizes[batch % std::size(kSizes)]; ++i, ++next) {
      members.push_back(gpu_member(gpu, settings[next % settings.size()],
                                   types[next % std::size(types)], next, runner));
    }
    least = std::min(least, decode_members(members, runner));
  }
  std::printf("%zu settings, least cosine %.6f\n", settings.size(), least);
}

TEST(BatchOnTheGpu, OfDenseSequencesIsLargeAndLeavesNoPages) {
  GpuBatch gpu;
  {
    ModelRunner runner(gpu.engine, gpu.queue, Compute::kBest);
    std::vector<GpuMember> members;
    for (size_t i = 0; i < 70; ++i) {
      const char* const specs[] = {"dense", "streamingllm:sink=4,recent=96", "h2o"};
      members.push_back(gpu_member(gpu, specs[i % 3], {}, i, runner));
    }
    std::printf("70 sequences, least cosine %.6f\n", decode_members(members, runner));
  }
  EXPECT_EQ(shared_page_bytes_in_use(gpu.queue), 0u);
}

TEST(BatchOnTheGpu, ChoosesTheBestLogitsThere) {
  GpuBatch gpu;
  ModelRunner runner(gpu.engine, gpu.queue, Compute::kBest);
  std::vector<GpuMember> members, copies;
  for (size_t i = 0; i < 3; ++i) members.push_back(gpu_member(gpu, "dense", {}, i, runner));
  for (const GpuMember& each : members) {
    copies.push_back({each.name, each.sequence.clone(), each.tokens, {}});
  }
  std::vector<BestLogit> best(3 * 8);
  std::vector<DecodeRow> rows, whole;
  for (size_t i = 0; i < 3; ++i) {
    rows.push_back({&members[i].sequence, members[i].tokens[0]});
    whole.push_back({&copies[i].sequence, copies[i].tokens[0]});
    if (i != 1) rows.back().best = std::span(best).subspan(8 * i, 8);
  }
  runner.decode(rows);
  runner.decode(whole);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_FALSE(rows[i].failed);
    const std::span<const float> all = copies[i].sequence.logits();
    if (i == 1) {
      EXPECT_EQ(members[i].sequence.logits().size(), all.size());
      continue;
    }
    EXPECT_TRUE(members[i].sequence.logits().empty());
    const auto top = std::ranges::max_element(all);
    EXPECT_EQ(rows[i].best[0].token, static_cast<int32_t>(top - all.begin()));
    EXPECT_EQ(rows[i].best[0].logit, *top);
    EXPECT_GE(rows[i].sums.log_sum_exp, *top);
  }
}

TEST(EventsOnTheGpu, AreReachedInOrder) {
  const Queue queue = open_device("cuda");
  DeviceQueue& device = queue.device();
  void* const memory = device.allocate(size_t{64} << 20);
  uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    device.clear(memory, size_t{64} << 20);
    const uint64_t event = device.record_event();
    EXPECT_GT(event, last);
    last = event;
    if (i == 10) {
      device.wait_for(event);
      EXPECT_TRUE(device.event_reached(event));
    }
  }
  device.wait();
  EXPECT_TRUE(device.event_reached(last));
  device.release(memory);
  void* const slab = device.allocate_slab();
  device.clear(slab, DeviceQueue::kSlabBytes);
  const int64_t waits = device.waits();
  device.release_slab(slab);
  EXPECT_EQ(device.waits(), waits);
}

}  // namespace
}  // namespace longhaul
