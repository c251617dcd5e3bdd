// DuoTrainer's state as a file, for continuing a training.

#include <algorithm>

#include "calibrate/duo_gates.h"
#include "calibrate/state_file.h"

namespace longhaul {
namespace {

using nlohmann::json;

std::vector<double> flat_gates(const Gates& gates) {
  std::vector<double> all;
  for (const auto& layer : gates) all.insert(all.end(), layer.begin(), layer.end());
  return all;
}

void fill(const std::vector<double>& from, Gates& gates) {
  size_t at = 0;
  for (auto& layer : gates) {
    for (float& gate : layer) gate = std::clamp(static_cast<float>(from[at++]), 0.0f, 1.0f);
  }
}

}  // namespace

void DuoTrainer::save(const std::filesystem::path& file) const {
  write_state(file, {"duo", settings_text()},
              {{"done", done_},
               {"gates", flat_gates(gates_)},
               {"best", flat_gates(best_)},
               {"least", least_},
               {"losses", losses_},
               {"mean", adam_.mean()},
               {"square", adam_.square()}});
}

void DuoTrainer::restore(const std::filesystem::path& file) {
  const json state = read_state(file, {"duo", settings_text()});
  const auto count = static_cast<int64_t>(flat_gates(gates_).size());
  const std::vector<double> gates = state_numbers(state, "gates", count, file);
  const std::vector<double> mean = state_numbers(state, "mean", count, file);
  const std::vector<double> square = state_numbers(state, "square", count, file);
  const std::vector<double> best = state_numbers(state, "best", -1, file);
  const std::vector<double> losses = state_numbers(state, "losses", -1, file);
  const auto done = static_cast<int64_t>(losses.size());
  const auto least = state.find("least");
  if (done > settings_.steps || least == state.end() || !least->is_number() ||
      (!best.empty() && best.size() != gates.size())) {
    refuse_damaged(file);
  }
  fill(gates, gates_);
  if (!best.empty()) {
    best_ = gates_;
    fill(best, best_);
  }
  least_ = least->get<double>();
  losses_ = losses;
  adam_ = Adam(mean, square, done);
  done_ = done;
}

}  // namespace longhaul
