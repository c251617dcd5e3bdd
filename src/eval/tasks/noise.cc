#include "eval/tasks/noise.h"

#include <fmt/format.h>

#include <cmath>

#include "eval/haystack.h"

namespace longhaul {
namespace {

constexpr double kLinesPerToken = 1.0 / 25;

}  // namespace

std::string passkey_line(std::string_view key) {
  return fmt::format("The pass key is {0}. Remember it. {0} is the pass key.", key);
}

std::string noise_with(std::string_view hidden, int64_t lines, double depth,
                       std::string_view between) {
  const auto before = std::llround(depth * static_cast<double>(lines));
  std::string text;
  for (int64_t i = 0; i <= lines; ++i) {
    if (i > 0) text += between;
    text += i == before ? hidden : kNoiseLine;
  }
  return text;
}

void fit_noise(const TaskRequest& request, Sample& sample, std::string_view hidden,
               std::string_view between,
               const std::function<void(Sample&, const std::string& noise)>& place) {
  fit_to_length(request, sample, kLinesPerToken, 1, [&](Sample& filled, int64_t lines) {
    place(filled, noise_with(hidden, lines, filled.depth.value(), between));
  });
}

}  // namespace longhaul
