#pragma once
// Hides a line in repeated noise. The passkey tasks and InfiniteBench's passkey task use it.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "eval/task.h"

namespace longhaul {

/// Returns "The pass key is 71432. Remember it. 71432 is the pass key."
std::string passkey_line(std::string_view key);

/// Returns `lines` lines of noise, separated by `between`. `hidden` is inserted after the fraction
/// `depth` of the lines.
std::string noise_with(std::string_view hidden, int64_t lines, double depth,
                       std::string_view between);

/// Fills a sample with as much noise as fit_to_length() allows, and calls place(sample, noise).
/// `hidden` is inserted at sample.depth.
void fit_noise(const TaskRequest& request, Sample& sample, std::string_view hidden,
               std::string_view between,
               const std::function<void(Sample&, const std::string& noise)>& place);

}  // namespace longhaul
