// CPU time of the host in a batched decode step on a device, measured with a device that computes
// nothing (silent_device.h). It needs only a model's shape; tools/make_plain_random_gguf.py --holes
// writes one without weights.
//
//   bench/longhaul_host_step_bench MODEL [SESSIONS [DEPTH [STEPS [METHOD,...]]]]

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/speed_bench.h"
#include "engine/model_runner.h"
#include "engine/prefill.h"
#include "silent_device.h"

namespace longhaul {
namespace {

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// Sequences of `depth` tokens with pages of their own, whose methods take turns.
std::vector<Sequence> sequences_of(std::string methods, int64_t count, int64_t depth,
                                   const std::shared_ptr<const Engine>& engine, ModelRunner& runner,
                                   const Queue& queue) {
  const auto tokens = bench_tokens(depth, engine->model().config.vocab);
  std::vector<Sequence> bases, all;
  for (size_t end = 0; !methods.empty(); methods.erase(0, end + 1)) {
    end = std::min(methods.find(','), methods.size() - 1);
    SessionOptions options;
    std::string name = methods.substr(0, end + 1);
    if (name.ends_with(',')) name.pop_back();
    options.attention = MethodSpec::parse(name);
    options.queue = queue;
    PrefillHooks hooks;
    hooks.instruction = std::min<int64_t>(depth, 64);
    prefill(bases.emplace_back(engine, options), runner, tokens, hooks);
  }
  for (int64_t i = 0; i < count; ++i) {
    all.push_back(nth(bases, i % std::ssize(bases)).clone());
    all.back().unshare_pages();
  }
  return all;
}

void run(int argc, char** argv) {
  if (argc < 2) user_error("names no model");
  const auto number = [&](int at, int64_t usual) {
    return argc > at ? std::strtoll(argv[at], nullptr, 10) : usual;
  };
  const int64_t count = number(2, 64), depth = number(3, 2048), steps = number(4, 20);
  const auto device = std::make_shared<bench_support::SilentDevice>();
  const Queue queue(device);
  const auto engine = Engine::open(argv[1]);
  ModelRunner runner(engine, queue, Compute::kBest);
  std::vector<Sequence> all =
      sequences_of(argc > 5 ? argv[5] : "dense", count, depth, engine, runner, queue);
  std::vector<BestLogit> best(static_cast<size_t>(count));
  std::vector<DecodeRow> rows;
  for (int64_t i = 0; i < count; ++i) {
    rows.push_back({&nth(all, i), static_cast<int32_t>(i), nullptr, {&nth(best, i), 1}});
  }
  runner.decode(rows);  // grows the buffers
  runner.decode(rows);
  device->launches = 0;
  std::vector<double> spent;
  for (int64_t step = 0; step < steps; ++step) {
    const double before = cpu_ms();
    runner.decode(rows);
    spent.push_back(cpu_ms() - before);
    for (const DecodeRow& row : rows) {
      if (row.failed) std::rethrow_exception(row.failed);
    }
  }
  std::ranges::sort(spent);
  fmt::print(
      "{} sessions at {} tokens: {:.2f} ms of CPU time per step (least {:.2f}), {} launches\n",
      count, depth, spent[spent.size() / 2], spent.front(), device->launches / steps);
}

}  // namespace
}  // namespace longhaul

int main(int argc, char** argv) {
  try {
    longhaul::run(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
