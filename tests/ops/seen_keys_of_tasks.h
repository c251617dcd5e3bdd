#pragma once
// The keys that rows of attention tasks see, one by one.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "ops/attention/attention.h"

namespace longhaul::testing_support {

/// The stored rows that each {query head, row} sees.
using SeenKeys = std::map<std::pair<int, int>, std::set<int64_t>>;

/// Fails if a row would count a key twice.
inline SeenKeys keys_seen(std::span<const AttendTask> tasks) {
  SeenKeys seen;
  for (const AttendTask& task : tasks) {
    for (int r = 0; r < task.row_count; ++r) {
      const int64_t at = task.row_position + r;
      auto& keys = seen[{task.head_begin, task.row_begin + r}];
      for (const KeySegment& s : task.segments) {
        for (int64_t i = 0; i < s.count; ++i) {
          const int64_t key = s.index.empty() ? s.begin + i : host(s.index)[static_cast<size_t>(i)];
          const int64_t position = s.position + i;
          bool sees = true;
          if (s.visible == Visibility::kCausal) sees = position <= at;
          if (s.visible == Visibility::kWindow) sees = position <= at && at - position < s.window;
          if (s.visible == Visibility::kBeyond) sees = at - position >= s.window;
          if (!sees) continue;
          EXPECT_TRUE(keys.insert(key).second) << "key " << key << " twice";
        }
      }
    }
  }
  return seen;
}

}  // namespace longhaul::testing_support
