#pragma once
// Chooses the experts of rows on the device (ops/matmul/experts.h), and moves the rows of their
// choices.

#include <cstdint>

#include "ops/core/gpu/stream.h"
#include "ops/matmul/expert_choice.h"

namespace longhaul::cuda {

inline constexpr int kMostExperts = 4096;
inline constexpr int kMostExpertGroups = 64;

/// Chooses `used` experts for each row of `logits` [rows, experts] and writes them to chosen [rows,
/// used]. ops/matmul/expert_choice.h defines the rule. The arrays of the rule are in device memory.
/// There are at most kMostExpertGroups groups.
void choose_experts(Stream stream, const float* logits, int64_t rows, int experts, int used,
                    const ExpertRule& rule, ExpertChoice* chosen);

/// Sorts the choices by expert. Choices of the same expert keep their order. order [count] receives
/// the sorted choice numbers, and places [count] the position of each choice in `order`. The
/// choices of expert e are [begins[e], begins[e + 1]) of `order`. `begins` has experts + 1 entries.
void sort_choices(Stream stream, const ExpertChoice* chosen, int64_t count, int experts,
                  int32_t* order, int32_t* places, int32_t* begins);

/// Copies row order[i] / per_row of x to row i of out, for i below `count`. Rows have n bf16
/// values.
void gather_chosen(Stream stream, const uint16_t* x, int64_t n, const int32_t* order, int64_t count,
                   int per_row, uint16_t* out);

/// Adds the bias of the expert of choice order[i] to row i of y, for i below `rows`. bias is
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
