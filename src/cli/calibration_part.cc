#include "cli/calibration_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/profile_file.h"
#include "cli/progress_bar.h"
#include "engine/device_choice.h"
#include "ops/core/devices.h"
#include "training/frozen_decoder.h"

namespace longhaul {

std::span<const CalibratedMethod> calibrated_methods() {
  static constexpr CalibratedMethod kMethods[] = {
      {"duo", "gates of its KV heads", duo_part},
      {"trianglemix", "layers that can be triangles", trianglemix_part},
      {"ltri", "retrieval heads and thresholds", ltri_part, "it reads every row of attention"},
      {"reattention", "visible tokens", reattention_part},
      {"minference", "a pattern for every head", minference_part},
  };
  return kMethods;
}

bool run_part(CalibrationPart& part, const CalibrateFlags& flags, const std::string& state) {
  Calibration& search = part.search();
  Interrupt interrupt;
  ProgressBar bar(fmt::format("calibrating {}", part.method()), !flags.quiet && !flags.json,
                  std::string(part.unit()));
  const int64_t before = search.done();  // steps of an earlier run took no time of this one
  const Stopwatch watch;
  while (!search.finished() && !interrupt.requested() && search.advance(&interrupt.flag())) {
    const auto done = static_cast<double>(std::max<int64_t>(1, search.done() - before));
    const auto left = static_cast<double>(search.total() - search.done());
    bar.update(search.done(), search.total(), search.note(), watch.seconds() / done * left);
    if (!state.empty()) search.save(state);
  }
  return search.finished();
}

Queue CalibrateFlags::queue() const {
  // Other compute types run only on the CPU.
  const bool only_here = device == kAutoDevice && compute_type() != Compute::kBest;
  const Queue queue = open_device(only_here ? "cpu" : device);
  if (queue.ranks() > 1) user_error("--device {}: calibrations run on one GPU", device);
  return queue;
}

int calibrate_one(const CalibrateFlags& flags) {
  const auto method =
      std::ranges::find(calibrated_methods(), flags.method, &CalibratedMethod::name);
  LH_ASSERT(method != calibrated_methods().end());
  expect_place(flags, *method);
  const auto engine = flags.model.open();
  const EvalData data(flags.data);
  const std::string& prefix = engine->model().shape.profile_prefix;
  const CalibrationInput input{flags, engine, data, flags.queue()};
  const auto part = method->make(placed(input, *method));
  if (flags.save) refuse_to_replace(part->files(prefix));
  if (!flags.state.empty()) expect_writable(flags.state);
  if (!flags.state.empty() && is_there(flags.state)) part->search().restore(flags.state);

  const Stopwatch watch;
  const bool finished = run_part(*part, flags, flags.state);
  const double seconds = watch.seconds();
  if (!part->has_result()) return kExitCancelled;
  if (flags.json) {
    nlohmann::ordered_json found{{"finished", finished}, {"seconds", seconds}};
    found.update(part->json());
    print_json(found);
  } else {
    const Calibration& search = part->search();
    part->print();
    fmt::print("\n{} of {} {} in {}{}{}\n", search.done(), search.total(), part->unit(),
               format_seconds(seconds), search.note().empty() ? "" : "; ", search.note());
  }
  part->write_named();
  if (flags.save) {
    part->write(prefix);
    std::fputs(fmt::format("written: {}\n", part->files(prefix).front().string()).c_str(), stderr);
  }
  return finished ? kExitOk : kExitCancelled;
}

std::vector<int64_t> lengths_or(const std::vector<int64_t>& asked, const Engine& engine,
                                std::vector<int64_t> usual) {
  if (!asked.empty()) return asked;
  const int64_t trained = engine.model().config.trained_context;
  std::erase_if(usual, [&](int64_t length) { return length > trained; });
  if (usual.empty()) usual.push_back(trained);
  return usual;
}

std::vector<std::string> tasks_or(const CalibrateFlags& flags, std::string_view usual) {
  return split_commas(flags.tasks.empty() ? std::string(usual) : flags.tasks);
}

SessionOptions session_of(const CalibrateFlags& flags) {
  SessionOptions options;
  options.compute = flags.compute_type();
  return options;
}

SessionOptions session_of(const CalibrationInput& input, int64_t tokens) {
  constexpr int64_t kReply = 512;
  SessionOptions options = session_of(input.flags);
  options.queue = input.queue;
  if (input.flags.device == kAutoDevice) {
    settle_device(input.engine, std::span(&options, 1), tokens, kReply);
  }
  return options;
}

Queue training_queue(const CalibrationInput& input, int64_t tokens, bool keep) {
  if (input.queue.on_host()) return {};
  const bool settled = input.flags.device != kAutoDevice;
  const Model& model = input.engine->model();
  if (!settled && !model.config.beyond_plain().empty()) return {};
  try {
    input.engine->on_device(input.queue);
    const DeviceQueue& device = input.queue.device();
    const size_t needed = FrozenDecoder::device_bytes(model, tokens, keep);
    if (needed <= device.free_bytes()) return input.queue;
    user_error("gradients of {} tokens need {} on {}, of which {} is free: use --device cpu",
               with_commas(tokens), format_bytes(needed), device.name(),
               format_bytes(device.free_bytes()));
  } catch (const UserError&) {
    if (settled) throw;
  }
  input.engine->leave_device();
  return {};
}

void expect_place(const CalibrateFlags& flags, const CalibratedMethod& method) {
  if (method.only_here.empty() || flags.device == kAutoDevice || flags.device == "cpu") return;
  user_error("--device {}: calibrate {} runs on the CPU: {}", flags.device, method.name,
             method.only_here);
}

CalibrationInput placed(const CalibrationInput& input, const CalibratedMethod& method) {
  CalibrationInput here = input;
  if (!method.only_here.empty()) here.queue = {};
  return here;
}

std::vector<std::string> numbers_to(size_t count) {
  std::vector<std::string> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

HeatMap map_of_heads(std::string title, std::string_view head, std::string_view what, int digits,
                     const std::vector<std::vector<double>>& numbers) {
  size_t most = 0;
  for (const auto& layer : numbers) most = std::max(most, layer.size());
  HeatMap map{std::move(title), std::string(head),          "layer",
              numbers_to(most), numbers_to(numbers.size()), {}};
  map.one_sided = true;
  for (size_t layer = 0; layer < numbers.size(); ++layer) {
    for (size_t i = 0; i < most; ++i) {
      map.cells.emplace_back();
      if (i >= numbers[layer].size()) continue;
      const double number = numbers[layer][i];
      map.cells.back() = HeatCell{
          number, fmt::format("layer {}, {} {}: {}{:.{}f}", layer, head, i, what, number, digits)};
    }
  }
  return map;
}

}  // namespace longhaul
