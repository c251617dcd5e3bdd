// Attention within chunks of a text on a GPU compared with the host.

#include <gtest/gtest.h>

#include <cmath>

#include "cuda/paged_heads.h"
#include "cuda/queued.h"
#include "ops/attention/attention.h"

namespace longhaul::cuda {
namespace {

constexpr int kChunkDim = 128, kChunkKvHeads = 2, kChunkHeads = 8;
constexpr int64_t kChunkedKeys = 300;

class ChunksOnTheGpu : public OnQueue {
 protected:
  /// Tasks of `rows` rows from `position` on over all keys up to the last row.
  static std::vector<AttendTask> tasks_of(std::vector<KeySegment>& segments, const PagedHeads& from,
                                          bool on_host, int64_t position, int rows, int64_t chunk) {
    segments.assign(kChunkKvHeads, {});
    std::vector<AttendTask> tasks;
    for (size_t h = 0; h < kChunkKvHeads; ++h) {
      KeySegment& s = segments[h];
      s.rows = on_host ? from.on_host(h) : from.on_device(h);
      s.count = position + rows;
      s.see_within(chunk, true);
      const int group = kChunkHeads / kChunkKvHeads;
      tasks.push_back({static_cast<int>(h) * group, group, 0, rows, position, {&s, 1}});
    }
    return tasks;
  }

  static AttendCall call_of(Queue& on) {
    AttendCall call;
    call.queue = &on;
    call.heads = kChunkHeads;
    call.head_dim = kChunkDim;
    call.scale = 1 / std::sqrt(static_cast<float>(kChunkDim));
    return call;
  }

  PagedHeads heads_{DType::BF16, kChunkDim, kChunkKvHeads,    kChunkedKeys,
                    3,           false,     &queue().device()};
};

TEST_F(ChunksOnTheGpu, RowsOfAPassSeeTheirChunks) {
  for (const int64_t chunk : {48, 100, 1000}) {
    for (const auto& [position, rows] :
         {std::pair<int64_t, int>{0, 300}, {95, 1}, {96, 1}, {90, 30}, {47, 130}}) {
      SCOPED_TRACE(testing::Message()
                   << "chunk " << chunk << ", rows " << position << " + " << rows);
      std::vector<float> q = exact_floats(static_cast<size_t>(rows) * kChunkHeads * kChunkDim, 4);
      std::vector<float> want(q.size());
      std::vector<KeySegment> segments;
      const View<const float> host_queries[] = {std::span<const float>(q)};
      AttendCall call = call_of(host_queue());
      call.queries = host_queries;
      call.out = std::span(want);
      attend(call, tasks_of(segments, heads_, true, position, rows, chunk));
      const View<float> out = empty_there<float>(std::ssize(q)), there_q = there(q);
      const View<const float> queries[] = {there_q};
      call = call_of(queue());
      call.queries = queries;
      call.out = out;
      const auto tasks = tasks_of(segments, heads_, false, position, rows, chunk);
      EXPECT_EQ(waits_in([&] { attend(call, tasks); }), 0);
      expect_close(here(out), want, 1e-2, 1e-2);
    }
  }
}

/// Decode rows of several sequences, before and behind a border.
TEST_F(ChunksOnTheGpu, RowsOfABatchSeeTheirChunks) {
  constexpr size_t kRows = 5, kNumbers = size_t{kChunkHeads} * kChunkDim;
  const int64_t positions[kRows] = {0, 47, 48, 200, 299};
  std::vector<float> q = exact_floats(kRows * kNumbers, 4), want(q.size());
  const View<float> there_q = there(q), out = empty_there<float>(std::ssize(q));
  std::vector<std::vector<KeySegment>> segments(2 * kRows);
  std::vector<std::vector<AttendTask>> tasks(2 * kRows);
  std::vector<View<const float>> queries(2 * kRows);
  std::vector<AttendJob> jobs;
  for (size_t r = 0; r < kRows; ++r) {
    const auto part = [&](auto view) {
      return view.part(static_cast<int64_t>(r * kNumbers), static_cast<int64_t>(kNumbers));
    };
    for (const bool on_host : {true, false}) {
      const size_t i = 2 * r + (on_host ? 0 : 1);
      tasks[i] = tasks_of(segments[i], heads_, on_host, positions[r], 1, 48);
      AttendCall call = call_of(on_host ? host_queue() : queue());
      queries[i] = on_host ? part(View<float>(std::span(q))) : part(there_q);
      call.queries = {&queries[i], 1};
      call.out = on_host ? part(View<float>(std::span(want))) : part(out);
      if (on_host) {
        attend(call, tasks[i]);
      } else {
        jobs.push_back({call, tasks[i]});
      }
    }
  }
  EXPECT_EQ(waits_in([&] { attend(jobs); }), 0);
  expect_close(here(out), want, 1e-2, 1e-2);
}

}  // namespace
}  // namespace longhaul::cuda
