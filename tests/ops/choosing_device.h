#pragma once
// A fake device that also chooses and keeps rows, in the phase code that a GPU runs
// (ops/core/gpu/block.h). An eviction then does not use the host.

#include <functional>

#include "ops/attention/row_moves.h"
#include "ops/choose/select_phases.h"
#include "ops/choose/select_rows.h"
#include "ops/core/fill.h"
#include "ops/fake_device.h"

namespace longhaul::testing_support {

class ChoosingDevice : public FakeDevice {
 public:
  ChoosingDevice() {
    set(kFill, this, &ChoosingDevice::fill);
    set(kAddLists, this, &ChoosingDevice::add_lists);
    set(kSumGroups, this, &ChoosingDevice::sum_groups);
    set(kSelectRows, this, &ChoosingDevice::select_rows);
    set(kKeepRows, this, &ChoosingDevice::keep_rows);
  }

  bool fill(View<float> x, float value) {
    longhaul::fill(host_queue(), here(x), value);
    return true;
  }
  bool add_lists(View<const float> x, View<float> out) {
    longhaul::add_lists(host_queue(), here(x), here(out));
    return true;
  }
  bool sum_groups(std::span<const View<const float>> x, std::span<const View<float>> out) {
    for (size_t i = 0; i < x.size(); ++i) {
      longhaul::sum_lists(host_queue(), here(x[i]), here(out[i]));
    }
    return true;
  }
  bool select_rows(std::span<const View<const float>> scores, const RowsToKeep& keep,
                   std::span<const View<int32_t>> rows) {
    for (size_t l = 0; l < scores.size(); ++l) {
      cuda::select_rows(cuda::HostBlock{}, shared_,
                        {scores[l].address(), scores[l].size(), keep.first, keep.last, keep.count,
                         rows[l].address()});
    }
    return true;
  }
  /// Set by tests: replaces keep_rows().
  std::function<bool()> fails;
  bool keep_rows(std::span<const KeptRows> rows, std::span<const KeptNumbers> numbers) {
    if (fails) return fails();
    for (const KeptRows& move : rows) {
      for (int64_t i = 0; i < move.rows.size(); ++i) {
        for (const bool value : {false, true}) {
          if (move.to.listed == move.from.listed && move.rows.address()[i] == i) continue;
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

 protected:
  template <class Device, class Function>
  void set(const auto& operation, Device* device, Function function) {
    operations().set(operation, [device, function](const auto&... arguments) {
      return (device->*function)(arguments...);
    });
  }
  template <class T>
  static View<T> here(const View<T>& view) {
    return {view.address(), view.size()};
  }

 private:
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
  cuda::SelectShared shared_;
};

}  // namespace longhaul::testing_support
