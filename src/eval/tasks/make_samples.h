#pragma once
// Defines functions that tasks share. make_samples() is the loop that makes samples. The other
// functions serve tasks that differ only in some settings: a table has one entry (a set) per task,
// with a member `name`.

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "eval/random.h"
#include "eval/task.h"

namespace longhaul {

/// Calls make(sample, random, i) for each sample i. The numbers of `random` depend only on the
/// task, the seed, the length and i.
template <class Make>
std::vector<Sample> make_samples(const TaskRequest& request, Make&& make) {
  std::vector<Sample> samples;
  for (int i = 0; i < request.samples; ++i) {
    Random random(request.task, request.seed, request.length, i);
    Sample sample;
    sample.id = std::to_string(i);
    make(sample, random, i);
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// Returns task(set) for each set of a table.
template <class Set, size_t n>
constexpr std::array<TaskInfo, n> tasks_of_sets(const Set (&sets)[n],
                                                TaskInfo (*task)(const Set&)) {
  std::array<TaskInfo, n> tasks;
  for (size_t i = 0; i < n; ++i) tasks[i] = task(sets[i]);
  return tasks;
}

/// Returns the set whose name is request.task.
template <class Set, size_t n>
const Set& requested_set(const Set (&sets)[n], const TaskRequest& request) {
  const Set* set = std::ranges::find(sets, request.task, &Set::name);
  LH_ASSERT(set != std::end(sets));
  return *set;
}

}  // namespace longhaul
