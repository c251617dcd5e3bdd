#include "cli/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "base/system_info.h"
#include "base/units.h"
#include "cli/model_flags.h"
#include "cli/table.h"
#include "ops/core/isa/isa.h"

namespace longhaul {
namespace {

using nlohmann::ordered_json;

bool on_host(const BenchResults& r) { return r.session.queue.on_host(); }

/// The machine's peak for the products in use; 0 if not measured.
double gemm_peak(const BenchResults& r) {
  if (!r.machine) return 0;
  return r.machine->best(!on_host(r) || panel_kernels(r.session.compute) != nullptr);
}

double memory_peak(const BenchResults& r) {
  return r.machine ? r.machine->memory_bytes_per_second : 0;
}

/// Operations (or bytes) per second as a share of the peak.
double share(double each, double per_second, double peak) {
  return peak > 0 ? each * per_second / peak : 0;
}

double prefill_share(const BenchResults& r, const PrefillSpeed& p) {
  const double flops_per_token = p.flops / static_cast<double>(p.prompt);
  return share(flops_per_token, p.tokens_per_second.median, gemm_peak(r));
}

double decode_share(const BenchResults& r, const DecodeSpeed& d) {
  return share(static_cast<double>(d.bytes_per_token), d.tokens_per_second.median, memory_peak(r));
}

std::string percent(double value) { return value > 0 ? fmt::format("{:.0f} %", 100 * value) : "-"; }

std::string rate(const Spread& s) {
  const int digits = s.median < 100 ? 1 : 0;
  return fmt::format("{:.{}f}", s.median, digits);
}

std::string range(const Spread& s) {
  const int digits = s.median < 100 ? 1 : 0;
  return fmt::format("{:.{}f}-{:.{}f}", s.min, digits, s.max, digits);
}

std::string shape_text(const GemmPeak& g) {
  return fmt::format("  {} x {} x {}{}", g.shape.m, g.shape.n, g.shape.k,
                     g.of_model ? " (a matrix of the model)" : "");
}

std::string gflops(double value) { return fmt::format("{:.0f}", value / 1e9); }

/// Whether the system can separate rows' peaks; if so, all rows have one.
bool has_peaks(const BenchResults& r) {
  for (const MethodSpeeds& m : r.methods) {
    if (!m.prefill.empty()) return m.prefill.front().peak_bytes.has_value();
    if (!m.decode.empty()) return m.decode.front().peak_bytes.has_value();
  }
  return false;
}

std::string speeds_table(const BenchResults& r) {
  using enum Table::Align;
  const bool peaks = has_peaks(r);
  Table table({kLeft, kLeft, kRight, kRight, kRight, kRight, kRight, kRight, kRight, kRight});
  const auto add = [&](std::vector<std::string> row, const std::string& peak) {
    if (peaks) row.insert(row.begin() + 7, peak);  // after "KV"
    table.add(std::move(row));
  };
  add({"attention", "test", "tokens", "tokens/s", "spread", "first token", "KV", "pairs",
       "of peak"},
      "memory");
  for (const MethodSpeeds& m : r.methods) {
    for (const PrefillSpeed& p : m.prefill) {
      add({m.attention, "prefill", with_commas(p.prompt), rate(p.tokens_per_second),
           range(p.tokens_per_second), format_seconds(p.first_token_seconds.median),
           format_bytes(p.kv_bytes), percent(p.pairs_share), percent(prefill_share(r, p))},
          format_bytes(p.peak_bytes.value_or(0)));
    }
    for (const DecodeSpeed& d : m.decode) {
      add({m.attention, "decode at", with_commas(d.depth), rate(d.tokens_per_second),
           range(d.tokens_per_second), "", format_bytes(d.kv_bytes), "",
           percent(decode_share(r, d))},
          format_bytes(d.peak_bytes.value_or(0)));
    }
  }
  return table.text();
}

double batch_share(const BenchResults& r, const BatchSpeed& b) {
  return share(static_cast<double>(b.bytes_per_step), 1 / b.step_seconds, memory_peak(r));
}

std::string batches_table(const BenchResults& r) {
  using enum Table::Align;
  Table table(std::vector<Table::Align>(11, kRight));
  table.add({"sessions", "depth", "tokens/s", "spread", "per session", "ms/step", "host ms", "KV",
             "memory", "of peak", "as alone"});
  for (const BatchSpeed& b : r.batches) {
    const double each = b.tokens_per_second.median / static_cast<double>(b.sequences);
    table.add({std::to_string(b.sequences), with_commas(b.depth), rate(b.tokens_per_second),
               range(b.tokens_per_second), fmt::format("{:.1f}", each),
               fmt::format("{:.2f}", 1e3 * b.step_seconds),
               b.host_seconds ? fmt::format("{:.2f}", 1e3 * *b.host_seconds) : "-",
               format_bytes(b.kv_bytes), b.peak_bytes ? format_bytes(*b.peak_bytes) : "-",
               percent(batch_share(r, b)),
               b.identical ? fmt::format("{} of {}", *b.identical, b.sequences) : "-"});
  }
  return table.text();
}

std::string memory_lines(const BenchResults& r) {
  if (has_peaks(r)) {
    return fmt::format(
        "memory: the process's peak while the row was measured (weights are mapped); of all {}\n",
        format_bytes(r.peak_bytes));
  }
  return fmt::format(
      "peak memory: {} (weights are mapped), of all rows together, because the system cannot "
      "reset it\n",
      format_bytes(r.peak_bytes));
}

std::string device_table(const MachinePeak& machine, const char* products) {
  using enum Table::Align;
  Table table({kLeft, kRight});
  table.add({"TFLOP/s of products", products});
  for (const GemmPeak& g : machine.gemms) {
    table.add({shape_text(g), fmt::format("{:.1f}", g.engine / 1e12)});
  }
  return table.text() + fmt::format("memory copied: {:.1f} GB/s read and written\n",
                                    machine.memory_bytes_per_second / 1e9);
}

std::string machine_table(const MachinePeak& machine) {
  using enum Table::Align;
  Table table({kLeft, kRight, kRight, kRight});
  table.add({"GFLOP/s of products", "oneDNN bf16", "oneDNN f32", "Longhaul"});
  for (const GemmPeak& g : machine.gemms) {
    table.add({shape_text(g), gflops(g.bf16), gflops(g.f32), gflops(g.engine)});
  }
  return table.text() +
         fmt::format("memory read: {:.1f} GB/s\n", machine.memory_bytes_per_second / 1e9);
}

ordered_json spread_json(const Spread& s) {
  return {{"median", s.median}, {"min", s.min}, {"max", s.max}};
}

ordered_json prefill_json(const BenchResults& r, const std::string& attention,
                          const PrefillSpeed& p) {
  ordered_json json = {{"attention", attention},
                       {"test", "prefill"},
                       {"prompt", p.prompt},
                       {"tokens_per_second", spread_json(p.tokens_per_second)},
                       {"first_token_seconds", spread_json(p.first_token_seconds)},
                       {"kv_bytes", p.kv_bytes},
                       {"dense_flops", p.flops},
                       {"pairs_share", p.pairs_share},
                       {"attention_time_share", p.attention_share}};
  if (p.peak_bytes) json["peak_rss_bytes"] = *p.peak_bytes;
  if (r.machine) json["share_of_gemm_peak"] = prefill_share(r, p);
  return json;
}

ordered_json decode_json(const BenchResults& r, const std::string& attention,
                         const DecodeSpeed& d) {
  ordered_json json = {{"attention", attention},
                       {"test", "decode"},
                       {"depth", d.depth},
                       {"steps", d.steps},
                       {"tokens_per_second", spread_json(d.tokens_per_second)},
                       {"kv_bytes", d.kv_bytes},
                       {"bytes_per_token", d.bytes_per_token}};
  if (d.peak_bytes) json["peak_rss_bytes"] = *d.peak_bytes;
  if (r.machine)
    json[on_host(r) ? "share_of_read_peak" : "share_of_copy_peak"] = decode_share(r, d);
  return json;
}

ordered_json batch_json(const BenchResults& r, const BatchSpeed& b) {
  ordered_json json = {{"attention", r.mix},
                       {"test", "batch"},
                       {"sessions", b.sequences},
                       {"depth", b.depth},
                       {"steps", b.steps},
                       {"tokens_per_second", spread_json(b.tokens_per_second)},
                       {"step_seconds", b.step_seconds},
                       {"kv_bytes", b.kv_bytes},
                       {"bytes_per_step", b.bytes_per_step}};
  if (b.peak_bytes) json["peak_rss_bytes"] = *b.peak_bytes;
  if (b.identical) json["bit_identical_sessions"] = *b.identical;
  if (b.host_seconds) json["host_seconds"] = *b.host_seconds;
  if (r.machine) json[on_host(r) ? "share_of_read_peak" : "share_of_copy_peak"] = batch_share(r, b);
  return json;
}

ordered_json machine_json(const BenchResults& r) {
  ordered_json json = {{"cpu", cpu_model_name()},
                       {"device", place_name(r.session)},
                       {"threads", thread_count()},
                       {"isa", name_of(current_isa())},
                       {"products", products_of(r.session)}};
  if (!r.machine) return json;
  json["gemm"] = ordered_json::array();
  for (const GemmPeak& g : r.machine->gemms) {
    json["gemm"].push_back(
        {{"m", g.shape.m}, {"n", g.shape.n}, {"k", g.shape.k}, {"of_model", g.of_model}});
    if (on_host(r)) {
      json["gemm"].back()["bf16_flops"] = g.bf16;
      json["gemm"].back()["f32_flops"] = g.f32;
    }
    json["gemm"].back()["engine_flops"] = g.engine;
  }
  json[on_host(r) ? "read_bytes_per_second" : "copy_bytes_per_second"] =
      r.machine->memory_bytes_per_second;
  return json;
}

}  // namespace

std::string bench_text(const BenchResults& r) {
  std::string text = fmt::format(
      "{}: {} of weights, loaded in {}\n{}, {}\nKV {}, {} repetition{}, median and spread\n\n",
      r.engine->checkpoint().path().filename().string(), format_bytes(r.engine->weight_bytes()),
      format_seconds(r.engine->load_seconds()), cpu_model_name(), kernels_line(r.session),
      name_of(r.session.kv_type), r.repeat, r.repeat == 1 ? "" : "s");
  if (!r.batches.empty()) {
    text += fmt::format("sessions decoded together, attention {}\n\n", r.mix);
    text += batches_table(r);
    text +=
        "\nas alone: sessions whose logits all have the same bits when decoded alone (--check)\n"
        "of peak: bytes of weights (once for 8 sessions on a CPU) and of keys and values held,\n"
        "of the memory bandwidth\n";
    if (r.machine && on_host(r)) text += machine_table(*r.machine);
    return text;
  }
  text += speeds_table(r);
  text += "\npairs: computed pairs of query and key, of those of dense attention\n";
  text += memory_lines(r);
  if (r.machine) {
    text += (on_host(r) ? machine_table(*r.machine)
                        : device_table(*r.machine, products_of(r.session))) +
            "\nof peak: prefill, operations of dense attention and all weights, of the fastest\n"
            "product above; decode, bytes of weights and of keys and values held, of the memory\n"
            "bandwidth (more than 100 %: the caches hold a part).\n";
  }
  return text;
}

nlohmann::ordered_json bench_json(const BenchResults& r) {
  ordered_json results = ordered_json::array();
  for (const MethodSpeeds& m : r.methods) {
    for (const PrefillSpeed& p : m.prefill) results.push_back(prefill_json(r, m.attention, p));
    for (const DecodeSpeed& d : m.decode) results.push_back(decode_json(r, m.attention, d));
  }
  for (const BatchSpeed& b : r.batches) results.push_back(batch_json(r, b));
  return {{"model", r.engine->checkpoint().path().string()},
          {"weight_bytes", r.engine->weight_bytes()},
          {"load_seconds", r.engine->load_seconds()},
          {"kv_type", name_of(r.session.kv_type)},
          {"repeat", r.repeat},
          {"cancelled", r.cancelled},
          {"results", results},
          {"peak_rss_bytes", r.peak_bytes},
          {"machine", machine_json(r)}};
}

}  // namespace longhaul
