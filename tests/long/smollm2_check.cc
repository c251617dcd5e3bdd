// Compares SmolLM2-135M-Instruct Q4_1 with what transformers computes in f32 on the same weights
// and with llama.cpp: smollm2_check MODEL.gguf next_token.json. Not a unit test: the file is 98 MB.
// Exit code 1 when fewer than 95 % of the top tokens agree or perplexity differs by 1 % or more.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "engine/session.h"

namespace longhaul {
namespace {

struct Agreement {
  double same_top = 0;  ///< share of positions
  double perplexity = 0;
};

Agreement measure(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
                  const std::vector<int32_t>& ids, const std::vector<int32_t>& top) {
  Session session(engine, options);
  const int64_t vocab = engine->model().config.vocab;
  double nll = 0, same = 0;
  PrefillHooks hooks;
  hooks.all_logits = [&](int64_t first, int64_t rows, const float* logits) {
    for (int64_t r = 0; r < rows; ++r, logits += vocab) {
      const size_t at = static_cast<size_t>(first + r);
      if (at + 1 >= ids.size()) return;
      const float* best = std::max_element(logits, logits + vocab);
      double sum = 0;
      for (int64_t i = 0; i < vocab; ++i) sum += std::exp(double{logits[i]} - *best);
      nll -= logits[ids[at + 1]] - *best - std::log(sum);
      same += best - logits == top[at] ? 1 : 0;
    }
  };
  session.prefill(ids, hooks);
  const double count = static_cast<double>(ids.size() - 1);
  return {same / count, std::exp(nll / count)};
}

int run(const char* model, const char* golden_file) {
  std::ifstream in(golden_file);
  const auto golden = nlohmann::json::parse(in);
  const auto engine = Engine::open(model);
  const auto ids = golden["ids"].get<std::vector<int32_t>>();
  std::printf("SmolLM2 Q4_1, %zu tokens; exact perplexity %.3f, llama.cpp %.3f\n", ids.size(),
              golden["exact_perplexity"].get<double>(), golden["llama_cpp_perplexity"].get<double>());
  bool good = true;
  for (const Compute compute : {Compute::kF32, Compute::kBest}) {
    SessionOptions options;
    options.compute = compute;
    if (compute == Compute::kF32) options.kv_type = DType::F32;
    for (const char* peer : {"exact", "llama_cpp"}) {
      const auto top = golden[std::string(peer) + "_top"].get<std::vector<int32_t>>();
      const Agreement a = measure(engine, options, ids, top);
      const double other = golden[std::string(peer) + "_perplexity"].get<double>();
      std::printf("  %-5s against %-9s  same top token %5.1f %%   perplexity %.3f (%+.2f %%)\n",
                  compute == Compute::kF32 ? "f32" : "best", peer, 100 * a.same_top, a.perplexity,
                  100 * (a.perplexity / other - 1));
      good = good && a.same_top >= 0.95 && std::abs(a.perplexity / other - 1) < 0.01;
    }
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace longhaul

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: smollm2_check MODEL.gguf next_token.json\n");
    return 2;
  }
  return longhaul::run(argv[1], argv[2]);
}
