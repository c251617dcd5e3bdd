#pragma once
// The loop that tasks of any length share.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eval/random.h"
#include "eval/task.h"

namespace longhaul {

/// Calls make(sample, random, i) for each sample, whose random numbers depend on the task, the
/// seed, the length and i alone.
template <class Make>
std::vector<Sample> make_samples(const TaskRequest& request, std::string_view task, Make&& make) {
  std::vector<Sample> samples;
  for (int i = 0; i < request.samples; ++i) {
    Random random(task, request.seed, request.length, i);
    Sample sample;
    sample.id = std::to_string(i);
    make(sample, random, i);
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace longhaul
