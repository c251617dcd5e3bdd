#pragma once
// Chooses the experts of rows on the device (ops/matmul/experts.h). A choice is a row together with
// one of its chosen experts. Also gathers the rows of the choices, and adds up the results of each
// row's choices.

#include <cstdint>

#include "ops/core/gpu/stream.h"
#include "ops/matmul/expert_choice.h"

namespace longhaul::cuda {

inline constexpr int kMostExperts = 4096;
inline constexpr int kMostExpertGroups = 64;

/// Chooses `used` experts for each row of `logits` [rows, experts] and writes them to chosen [rows,
/// used]. ops/matmul/expert_choice.h explains `rule`, whose arrays are in device memory. There are
/// at most kMostExpertGroups groups.
void choose_experts(Stream stream, const float* logits, int64_t rows, int experts, int used,
                    const ExpertRule& rule, ExpertChoice* chosen);

/// Sorts the choices by expert. Choices of the same expert keep their order. order [count] receives
/// the numbers of the choices in sorted order, and places [count] the position of each choice in
/// `order`. The choices of expert e are at [begins[e], begins[e + 1]) in `order`. `begins` has
/// experts + 1 entries.
void sort_choices(Stream stream, const ExpertChoice* chosen, int64_t count, int experts,
                  int32_t* order, int32_t* places, int32_t* begins);

/// Each row of x has per_row choices. Copies row order[i] / per_row of x to row i of `out`, for
/// each i < count. Rows have n elements in bf16.
void gather_chosen(Stream stream, const uint16_t* x, int64_t n, const int32_t* order, int64_t count,
                   int per_row, uint16_t* out);

/// Adds the bias of the expert of choice order[i] to row i of y, for each i < rows. `bias` is
/// [experts, n].
void add_chosen_bias(Stream stream, uint16_t* y, int64_t rows, int64_t n, const int32_t* order,
                     const ExpertChoice* chosen, const float* bias);

/// Implements weigh_rows() of ops/matmul/weigh_rows.h.
void weigh_rows(Stream stream, const float* logits, int experts, const float* x, int64_t rows,
                int64_t n, float* y);

/// Computes y[r] as the sum over i below `used` of weight(c) * result(c), where c = r * used + i.
/// If `add` is true, the sum is added to y[r]. result(c) is row places[c] of `results`, or row c if
/// `places` is null.
void add_choices(Stream stream, const float* results, const int32_t* places, int64_t rows, int used,
                 int64_t n, const ExpertChoice* chosen, float* y, bool add);
void add_choices(Stream stream, const uint16_t* results, const int32_t* places, int64_t rows,
                 int used, int64_t n, const ExpertChoice* chosen, float* y, bool add);

}  // namespace longhaul::cuda
