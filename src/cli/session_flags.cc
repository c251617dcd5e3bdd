#include "cli/session_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "cli/flags.h"
#include "cli/longer_model.h"
#include "engine/device_choice.h"
#include "engine/recommend.h"
#include "ops/core/devices.h"
#include "text/printable.h"

namespace longhaul {
namespace {

constexpr int kLargestChunk = 1 << 20;
constexpr std::string_view kAuto = "auto";

/// The method that supports longer contexts, ignoring memory; `longhaul advise` also considers
/// memory.
std::string advice_beyond(const ModelShape& shape, int64_t tokens, int chunk,
                          const std::string& kv_type) {
  const auto any = [](const std::string&, const std::string&) { return true; };
  const auto best = recommend(shape, tokens, chunk, kv_type, any);
  if (!best) return "no attention method of this build goes further without settings";
  return fmt::format("--attention {} goes further ('longhaul advise' compares them)",
                     best->attention);
}

bool is_method(const std::string& name) {
  const auto all = attention_methods();
  return std::any_of(all.begin(), all.end(), [&](const MethodInfo& m) { return m.name == name; });
}

/// Refuses a list of methods if one is expected. A text that does not begin with a method's name
/// may be an option without its value: the method's own message is more specific.
void refuse_list(const std::string& attention) {
  const std::vector<std::string> methods = split_methods(attention);
  for (const std::string& method : methods) {
    if (!is_method(method.substr(0, method.find(':')))) return;
  }
  if (methods.size() < 2) return;
  user_error("--attention {}: this command takes one method; eval and bench take several",
             printable(attention));
}

std::string kv_type_problem(const std::string& text) {
  if (kv_type_from_name(text)) return "";
  return fmt::format("{} is not {}, nor one for keys and one for values such as k=q8_0,v=q4_0",
                     printable(text), kv_type_names());
}

}  // namespace

void SessionFlags::add_to(CLI::App& app, Set set) {
  const std::string group = "Context";
  if (set != Set::kWithoutAttentionAndContext) {
    add_text(app, "--attention", attention, "METHOD[:KEY=VALUE,...]",
             "Attention method ('longhaul methods' lists them)")
        ->group(group);
  }
  if (set == Set::kAll) {
    add_number<int64_t>(app, "-c,--ctx", context, 0, std::numeric_limits<int64_t>::max() / 2,
                        "Most tokens of prompt and reply; 0: no limit. Reserves no memory")
        ->group(group);
  }
  add_text(app, "--kv-type", kv_type, "TYPE|k=TYPE,v=TYPE",
           "Type of stored keys and values, or of either: " + kv_type_names())
      ->check(kv_type_problem)
      ->group(group);
  add_number(app, "--chunk", chunk, 0, kLargestChunk,
             "Tokens of a prefill chunk; 0: 1,024, or the method's choice. Fewer need less memory")
      ->group(group);
  add_number<int64_t>(
      app, "--state-every", state_every, 0, int64_t{1} << 40,
      "Models with recurrent layers: tokens between stored states, to which another "
      "continuation goes back; 0: none")
      ->group(group);
  add_choice(
      app, "--compute", compute, {"best", "int8", "fp8", "f32"},
      "best: bf16 products where the CPU has them, else 13-bit integers; int8: rounds more, "
      "faster prefill on CPUs with AVX512-VNNI and no AMX; fp8: 8-bit floats, faster prefill "
      "on an H100 or H200; f32: for reference")
      ->group("Machine");
  add_text(app, "--device", device, "auto|cpu|cuda[:N[,M...]]",
           "Where the model runs ('longhaul devices' lists the GPUs); cuda:0,1: several GPUs "
           "share it; auto: a GPU that runs it and has room, else the CPU")
      ->group("Machine");
  add_size(app, "--memory-limit", memory_limit,
           "Refuse prompts that need more memory, such as 2G; default: the free memory")
      ->group("Machine");
}

SessionOptions SessionFlags::options() const {
  refuse_list(attention);
  SessionOptions options;
  options.attention = MethodSpec::parse(attention);
  options.kv_type = *kv_type_from_name(kv_type);
  options.compute = *compute_from_name(compute);
  options.chunk = chunk;
  options.state_every = state_every;
  // int8 and f32 compute is CPU only, fp8 is GPU only.
  if (needs_gpu()) {
    options.queue = open_gpu();
  } else {
    const bool only_here = device == kAuto && options.compute != Compute::kBest;
    options.queue = open_device(only_here ? "cpu" : device);
  }
  options.context = context;
  options.memory_limit = memory_limit;
  return options;
}

bool SessionFlags::needs_gpu() const { return *compute_from_name(compute) == Compute::kFp8; }

Queue SessionFlags::open_gpu() const {
  try {
    Queue gpu = open_device(device == kAuto ? "cuda" : device);
    if (!gpu.on_host()) return gpu;
  } catch (const UserError& e) {
    if (device != kAuto) throw;
    user_error("--compute {}: no GPU can be used: {}", compute, e.what());
  }
  user_error("--compute {}: only GPUs multiply 8-bit floats; --device {} is none", compute, device);
}

void SessionFlags::settle_place(const std::shared_ptr<const Engine>& engine,
                                std::span<SessionOptions> options, int64_t tokens,
                                int64_t reply) const {
  if (device == kAuto && !needs_gpu()) settle_device(engine, options, tokens, reply);
}

std::vector<std::string> split_methods(const std::string& list) {
  std::vector<std::string> methods;
  std::string part;
  const auto finish_part = [&] {
    const size_t equals = part.find('=');
    const bool further_option =
        !methods.empty() && equals != std::string::npos && part.find(':') > equals;
    if (further_option) {
      methods.back() += "," + part;
    } else {
      methods.push_back(part);
    }
    part.clear();
  };
  for (const char c : list) {
    if (c == ',') {
      finish_part();
    } else {
      part += c;
    }
  }
  finish_part();
  return methods;
}

std::optional<std::string> method_beyond_training(const Engine& engine,
                                                  const SessionOptions& options, int64_t tokens) {
  const ModelShape& shape = engine.model().shape;
  const auto method = options.attention.make(shape);
  const int64_t reach = method->reach(tokens, chunk_of(options.chunk, *method, options.queue));
  if (shape.trained_context == 0 || reach <= shape.trained_context) return std::nullopt;
  const auto any = [](const std::string&, const std::string&) { return true; };
  const auto best = recommend(shape, tokens, options.chunk, flag_of(options.kv_type), any);
  return best ? std::optional(best->attention) : std::nullopt;
}

bool warn_beyond_training(const Engine& engine, const SessionOptions& options, int64_t tokens) {
  const ModelShape& shape = engine.model().shape;
  const MethodSpec& method = options.attention;
  const int64_t trained = shape.trained_context;
  const auto made = method.make(shape);
  const int64_t reach = made->reach(tokens, chunk_of(options.chunk, *made, options.queue));
  if (trained == 0 || reach <= trained) return false;
  std::string advice = advice_beyond(shape, tokens, options.chunk, flag_of(options.kv_type));
  if (const auto longer = longer_model(tokens)) {
    advice +=
        fmt::format(", and -m {} was trained for {}", longer->name, with_commas(longer->trained));
  }
  if (reach < tokens) {
    warn(
        "--attention {}: rows see up to {} tokens back, more than the {} that this model was "
        "trained for: expect wrong answers; {}",
        method.text(), with_commas(reach), with_commas(trained), advice);
  } else {
    warn(
        "{} tokens are more than the {} that this model was trained for: with {} attention expect "
        "wrong answers; {}",
        with_commas(tokens), with_commas(trained), method.text(), advice);
  }
  return true;
}

}  // namespace longhaul
