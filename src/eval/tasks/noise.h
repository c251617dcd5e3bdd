#pragma once
// Hides a line of text among many repetitions of kNoiseLine. The passkey tasks and InfiniteBench's
// passkey task use it.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "eval/task.h"

namespace longhaul {

/// Returns "The pass key is 71432. Remember it. 71432 is the pass key."
std::string passkey_line(std::string_view key);

/// Returns kNoiseLine repeated `lines` times, separated by `between`. `hidden` is inserted after
/// depth * lines lines.
std::string noise_with(std::string_view hidden, int64_t lines, double depth,
                       std::string_view between);

/// Fills a sample with as many lines of noise as fit (fit_to_length()). `hidden` is inserted at
/// sample.depth. place(sample, noise) must put the noise into the sample's context.
void fit_noise(const TaskRequest& request, Sample& sample, std::string_view hidden,
               std::string_view between,
               const std::function<void(Sample&, const std::string& noise)>& place);

}  // namespace longhaul
