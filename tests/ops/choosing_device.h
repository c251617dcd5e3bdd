#pragma once
// A fake device that also chooses and keeps rows, in the phase code that a GPU runs
// (ops/core/gpu/block.h). An eviction then does not use the host.

#include <functional>

#include "ops/attention/row_moves.h"
#include "ops/choose/hybrid_rules.h"
#include "ops/choose/rule_phases.h"
#include "ops/choose/steady_scores.h"
#include "ops/core/fill.h"
#include "ops/fake_device.h"

namespace longhaul::testing_support {

class ChoosingDevice : public FakeDevice {
 public:
  ChoosingDevice() {
    const auto set = [this](const auto& operation, auto function) {
      operations().set(operation, [this, function](const auto&... arguments) {
        return (this->*function)(arguments...);
      });
    };
    set(kFill, &ChoosingDevice::fill);
    set(kAddLists, &ChoosingDevice::add_lists);
    set(kAddSeen, &ChoosingDevice::add_seen);
    set(kSelectRows, &ChoosingDevice::select_rows);
    set(kDealRows, &ChoosingDevice::deal_rows);
    set(kSteadyScores, &ChoosingDevice::steady_scores);
    set(kJudgeRules, &ChoosingDevice::judge_rules);
    set(kListRules, &ChoosingDevice::list_rules);
    set(kKeepRows, &ChoosingDevice::keep_rows);
  }

  bool fill(View<float> x, float value) {
    longhaul::fill(host_queue(), here(x), value);
    return true;
  }
  bool add_lists(View<const float> x, View<float> out) {
    longhaul::add_lists(host_queue(), here(x), here(out));
    return true;
  }
  bool add_seen(int64_t rows, std::span<const View<float>> columns) {
    for (const View<float>& column : columns) {
      const View<float> numbers = here(column);
      longhaul::add_seen(host_queue(), rows, {&numbers, 1});
    }
    return true;
  }
  bool select_rows(std::span<const View<const float>> scores, const RowsToKeep& keep,
                   std::span<const View<int32_t>> rows) {
    for (size_t l = 0; l < scores.size(); ++l) {
      cuda::select_rows(cuda::HostBlock{}, shared_.select,
                        {scores[l].address(), scores[l].size(), keep.first, keep.last, keep.count,
                         rows[l].address()});
    }
    return true;
  }
  bool deal_rows(const DealtRows& dealt) {
    std::vector<cuda::DealtList> lists;
    for (size_t l = 0; l < dealt.scores.size(); ++l) {
      lists.push_back({dealt.scores[l].address(), dealt.scores[l].size(), dealt.rows[l].address(),
                       dealt.counts.address() + l});
    }
    cuda::deal_rows(
        cuda::HostBlock{}, shared_.select,
        {lists.data(), static_cast<int32_t>(lists.size()), dealt.ends.first, dealt.ends.last,
         dealt.sure, dealt.left, reinterpret_cast<uint32_t*>(dealt.scratch.address())});
    return true;
  }
  bool steady_scores(std::span<const SteadyList> lists) {
    for (const auto& [got, rule, scores] : lists) {
      cuda::steady_scores(
          cuda::HostBlock{}, shared_.select,
          {got.sums.address(), got.squares.address(), got.seen.address(), scores.address(),
           scores.size(), rule.sink, rule.settling, rule.feasible});
    }
    return true;
  }
  bool judge_rules(const HybridRules& rules, std::span<const JudgedList> lists,
                   View<int32_t> verdicts) {
    for (size_t l = 0; l < lists.size(); ++l) {
      run(rules, lists[l], verdicts.address() + 2 * l, nullptr);
    }
    return true;
  }
  bool list_rules(const HybridRules& rules, std::span<const JudgedList> lists,
                  std::span<const View<int32_t>> rows) {
    for (size_t l = 0; l < lists.size(); ++l) run(rules, lists[l], nullptr, rows[l].address());
    return true;
  }

  /// Set by tests: replaces keep_rows().
  std::function<bool()> fails;
  bool keep_rows(std::span<const KeptRows> rows, std::span<const KeptNumbers> numbers) {
    if (fails) return fails();
    for (const KeptRows& move : rows) {
      for (int64_t i = 0; i < move.rows.size(); ++i) {
        for (const bool value : {false, true}) {
          std::memcpy(row_of(move.to, i, value), row_of(move.from, move.rows.address()[i], value),
                      row_bytes(move.from));
        }
      }
    }
    for (const KeptNumbers& each : numbers) {
      const auto* const from = static_cast<const uint32_t*>(each.from);
      auto* const to = static_cast<uint32_t*>(each.to);
      for (int64_t i = 0; i < each.rows.size(); ++i) {
        const int32_t row = each.rows.address()[i];
        to[i] = row < each.listed ? from[row] : static_cast<uint32_t>(row + each.behind);
      }
      // If the host had not listed the tokens, all rows after the end may be kept.
      for (int64_t i = each.rows.size(); from == to && i < each.listed; ++i) to[i] = 0;
    }
    return true;
  }

 private:
  template <class T>
  static View<T> here(const View<T>& view) {
    return {view.address(), view.size()};
  }
  static size_t row_bytes(const PagedRows& rows) {
    LH_ASSERT(rows.type.k == rows.type.v);
    return bytes_of(rows.type.k, rows.head_dim);
  }
  /// Uses the device's own list of pages.
  static std::byte* row_of(const PagedRows& rows, int64_t row, bool value) {
    const int64_t in_page = row % rows.page_rows + (value ? rows.page_rows : 0);
    return const_cast<std::byte*>(rows.listed[row / rows.page_rows]) +
           static_cast<size_t>(in_page) * row_bytes(rows);
  }
  void run(const HybridRules& rules, const JudgedList& list, int32_t* verdict, int32_t* out) {
    const cuda::RuleTask task{.attention = list.attention.address(),
                              .recent = list.recent.address(),
                              .tokens = list.tokens.listed.address(),
                              .listed = list.tokens.listed.size(),
                              .behind = list.tokens.behind,
                              .classes = list.classes.address(),
                              .known = list.classes.size(),
                              .rows = list.rows,
                              .begin = list.begin,
                              .end = list.end,
                              .global = rules.global,
                              .heavy = rules.heavy_rows(list.end),
                              .window = rules.window_rows(list.end),
                              .enough = rules.enough(list),
                              .rule = list.rule,
                              .verdict = verdict,
                              .out = out};
    const cuda::HostBlock block;
    cuda::RuleJudgement<cuda::HostBlock>(block, shared_, task).run();
  }

  cuda::RuleShared shared_;
};

}  // namespace longhaul::testing_support
