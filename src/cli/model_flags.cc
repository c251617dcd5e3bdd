#include "cli/model_flags.h"

#include <fmt/format.h>

#include "base/parallel.h"
#include "cli/flags.h"
#include "engine/model_names.h"
#include "ops/cpu/isa.h"

namespace longhaul {
namespace {

constexpr int kMostThreads = 1024;

std::vector<std::string> isa_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kIsaCount; ++i) names.emplace_back(name_of(static_cast<Isa>(i)));
  return names;
}

}  // namespace

void ModelFlags::add_to(CLI::App& app) {
  add_text(app, "-m,--model", model, "MODEL",
           "A GGUF file, a Hugging Face folder, or a name ('longhaul models' lists them)");
  add_number(app, "-t,--threads", threads, 0, kMostThreads, "Threads; 0: one for every logical CPU")
      ->group("Machine");
  add_choice(app, "--isa", isa, isa_names(), "Force lower kernels than the CPU's best")
      ->group("Machine");
}

std::shared_ptr<const Engine> ModelFlags::open() const {
  if (threads > 0) set_thread_count(threads);
  if (!isa.empty()) set_isa(*isa_from_name(isa));
  return Engine::open(find_model(model));
}

std::string kernels_line(Compute compute) {
  return fmt::format("{}, {} products, {} thread{}", name_of(current_isa()), product_name(compute),
                     thread_count(), thread_count() == 1 ? "" : "s");
}

}  // namespace longhaul
