// A device that appends the new rows of all sequences of a batch together, and rotates their
// queries there, computes the same as one that appends them one after the other.

#include <gtest/gtest.h>

#include <deque>

#include "engine/model_runner.h"
#include "engine/prefill.h"
#include "engine/short_nano.h"
#include "ops/attention/row_moves.h"
#include "ops/attention/stored_key.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

class AppendingDevice : public testing_support::FakeDevice {
 public:
  AppendingDevice() {
    operations().set(kAppendRows, [this](std::span<const DeviceAppend> all) {
      for (const DeviceAppend& added : all) append(added);
      return true;
    });
  }
  int with_raw_keys = 0;  ///< appends of raw keys with rotated queries

 private:
  static std::vector<float> rotated(const DeviceAppend& of, View<const float> x, int dim) {
    std::vector<float> y(static_cast<size_t>(x.size()));
    Rotations here = *of.rotations;
    here.place = {};
    const auto heads = static_cast<int>(x.size() / of.rows / dim);
    apply_rope(host_queue(), here, of.position, {x.address(), x.size()}, of.rows, heads, dim,
               std::span<float>(y));
    return y;
  }
  void append(const DeviceAppend& added) {
    const int dim = added.lists.front().head_dim;
    std::vector<float> keys(added.k.address(), added.k.address() + added.k.size());
    if (added.rotations != nullptr && !added.raw_keys) keys = rotated(added, added.k, dim);
    const int64_t stride = int64_t{added.kv_heads} * dim;
    for (size_t l = 0; l < added.lists.size(); ++l) {
      const auto head = static_cast<int64_t>(l) * added.kv_heads / std::ssize(added.lists);
      for (int64_t r = 0; r < added.rows; ++r) {
        write(added.lists[l], added.first[l] + r, keys.data() + r * stride + head * dim,
              added.v.address() + r * stride + head * dim);
      }
    }
    if (added.rotated_q.empty()) return;
    with_raw_keys += added.raw_keys ? 1 : 0;
    std::ranges::copy(rotated(added, added.q, dim), added.rotated_q.address());
  }
  static void write(const PagedRows& list, int64_t row, const float* k, const float* v) {
    std::byte* const page = const_cast<std::byte*>(list.pages[row / list.page_rows]);
    const auto at = static_cast<size_t>(row % list.page_rows);
    const auto values = static_cast<size_t>(list.page_rows) * list.key_bytes();
    write_row(list.type.k, true, k, list.head_dim, page + at * list.key_bytes());
    write_row(list.type.v, false, v, list.head_dim, page + values + at * list.value_bytes());
  }
};

/// Greedy replies of a batch of sequences with other methods and lengths.
std::vector<std::vector<int32_t>> replies_on(const Queue& queue) {
  const auto engine = testing_support::short_nano();
  ModelRunner runner(engine, queue, Compute::kF32);
  std::deque<Sequence> sequences;
  for (const char* method : {"dense", "streamingllm:sink=2,recent=16", "streamingllm",
                             "lminfinite:global=2,local=16,limit=16", "dense"}) {
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    options.queue = queue;
    options.chunk = 32;
    Sequence& made = sequences.emplace_back(engine, options);
    std::vector<int32_t> prompt;
    const int length = 50 + 13 * static_cast<int>(sequences.size());
    for (int i = 0; i < length; ++i) prompt.push_back(300 + i * 17 % 900);
    prefill(made, runner, prompt);
  }
  std::vector<std::vector<int32_t>> replies(sequences.size());
  for (int step = 0; step < 12; ++step) {
    std::vector<DecodeRow> rows;
    for (size_t i = 0; i < sequences.size(); ++i) {
      const std::span<const float> logits = sequences[i].logits();
      const auto best = std::ranges::max_element(logits) - logits.begin();
      replies[i].push_back(static_cast<int32_t>(best));
      rows.push_back({&sequences[i], replies[i].back()});
    }
    runner.decode(rows);
    for (const DecodeRow& row : rows) EXPECT_EQ(row.failed, nullptr);
  }
  return replies;
}

TEST(AppendedBatch, AnswersAsAppendsOneByOne) {
  const auto device = std::make_shared<AppendingDevice>();
  EXPECT_EQ(replies_on(Queue(device)), replies_on(testing_support::fake_queue()));
  EXPECT_GT(device->with_raw_keys, 0) << "streamingllm stores raw keys";
}

}  // namespace
}  // namespace longhaul
