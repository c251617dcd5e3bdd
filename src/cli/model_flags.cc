#include "cli/model_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/error.h"
#include "base/parallel.h"
#include "base/parse_number.h"
#include "base/paths.h"
#include "cli/find_or_pull.h"
#include "cli/flags.h"
#include "engine/known_profiles.h"
#include "ops/core/isa/isa.h"
#include "text/printable.h"

namespace longhaul {
namespace {

constexpr int kMostThreads = 1024;

std::vector<std::string> isa_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kIsaCount; ++i) names.emplace_back(name_of(static_cast<Isa>(i)));
  return names;
}

/// Many more threads than logical CPUs only wait for each other.
int usable_threads(int asked) {
  const int cpus = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int most = std::max(16, 2 * cpus);
  if (asked <= most) return asked;
  warn("-t {}: this machine has {} logical CPUs; {} threads are used", asked, cpus, cpus);
  return cpus;
}

}  // namespace

AdapterSource parse_adapter(const char* flag, const std::string& text) {
  const size_t colon = text.rfind(':');
  if (text.empty()) user_error("{}: the name is empty", flag);
  if (colon == std::string::npos || is_there(text)) return {text, 1};
  AdapterSource adapter{text.substr(0, colon), 1};
  const std::string scale = text.substr(colon + 1);
  if (!parse_number(scale, adapter.weight) || !std::isfinite(adapter.weight)) {
    user_error("{} {}: {} is no number", flag, printable(text), printable(scale));
  }
  return adapter;
}

void ModelFlags::add_model_to(CLI::App& app) {
  add_text(app, "-m,--model", model, "MODEL",
           "A GGUF file, a Hugging Face folder, a name ('longhaul models' lists them), "
           "hf:OWNER/REPO[:TYPE] or a URL");
  app.add_option_function<std::string>(
         "--hf-repo", [this](const std::string& text) { model = "hf:" + text; },
         "A model of the hub, fetched if it is missing; -hf for short")
      ->type_name("OWNER/REPO[:TYPE]")
      ->take_last();
  app.add_option(
         "--lora", loras,
         "A LoRA adapter: a GGUF file or a PEFT folder, and its scale (1: as trained). May be "
         "given several times")
      ->type_name("FILE[:SCALE]")
      ->allow_extra_args(false);
  add_number(app, "-t,--threads", threads, 0, kMostThreads, "Threads; 0: one for every logical CPU")
      ->group("Machine");
}

void ModelFlags::add_to(CLI::App& app) {
  add_model_to(app);
  add_text(app, "--profiles", profiles, "FOLDER|NAME",
           "Settings of methods in place of those beside the model: a folder of METHOD.json "
           "files, or a known model's name ('longhaul models --profiles')");
  add_choice(app, "--isa", isa, isa_names(), "Use kernels of a lower instruction set")
      ->group("Machine");
}

ModelSource ModelFlags::source() const {
  if (threads > 0) set_thread_count(usable_threads(threads));
  ModelSource source = find_or_pull(model);
  for (const std::string& lora : loras) source.adapters.push_back(parse_adapter("--lora", lora));
  if (!profiles.empty()) source.profiles = find_profiles(profiles);
  return source;
}

std::shared_ptr<const Engine> ModelFlags::open(const std::function<void()>& at_hand) const {
  if (!isa.empty()) set_isa(*isa_from_name(isa));
  const ModelSource found = source();
  at_hand();
  return Engine::open(found);
}

std::string place_name(const SessionOptions& session) {
  if (session.queue.on_host()) return "cpu";
  const int devices = session.queue.ranks();
  const std::string name = session.queue.device().name();
  return devices == 1 ? name : fmt::format("{} x {}", devices, name);
}

const char* products_of(const SessionOptions& session) {
  const bool as_on_host = session.queue.on_host() || session.compute == Compute::kFp8;
  return as_on_host ? product_name(session.compute) : "bf16";
}

std::string kernels_line(const SessionOptions& session) {
  const char* const products = products_of(session);
  if (!session.queue.on_host())
    return fmt::format("{}, {} products", place_name(session), products);
  return fmt::format("{}, {} products, {} thread{}", name_of(current_isa()), products,
                     thread_count(), thread_count() == 1 ? "" : "s");
}

}  // namespace longhaul
