#pragma once
// A mixture's expert choices on the device (ops/matmul/experts.h), and the rows that they move.

#include <cstdint>

#include "ops/core/gpu/stream.h"
#include "ops/matmul/expert_choice.h"

namespace longhaul::cuda {

inline constexpr int kMostExperts = 4096;
inline constexpr int kMostExpertGroups = 64;

/// Chooses `used` experts for each row of `logits` [rows, experts] as ops/matmul/expert_choice.h
/// defines, and writes them to chosen [rows, used]. The rule's lists lie on the device. There are
/// at most kMostExpertGroups groups.
void choose_experts(Stream stream, const float* logits, int64_t rows, int experts, int used,
                    const ExpertRule& rule, ExpertChoice* chosen);

/// Sorts the choices by expert; equal ones keep their order. order [count] gets the sorted choices,
/// and places [count] gets the place of each choice in `order`. The choices of expert e are
/// [begins[e], begins[e + 1]) of `order`; `begins` has experts + 1 entries.
void sort_choices(Stream stream, const ExpertChoice* chosen, int64_t count, int experts,
                  int32_t* order, int32_t* places, int32_t* begins);

/// Copies row order[i] / per_row of x to row i of out, for `count` rows of n bf16 values.
void gather_chosen(Stream stream, const uint16_t* x, int64_t n, const int32_t* order, int64_t count,
                   int per_row, uint16_t* out);

/// Adds the bias of the expert of choice order[i] to row i of y. bias is [experts, n], and y has
/// `rows` rows.
void add_chosen_bias(Stream stream, uint16_t* y, int64_t rows, int64_t n, const int32_t* order,
                     const ExpertChoice* chosen, const float* bias);

/// Computes y[r] = sum over i of weight(c) * result(c) with c = r * used + i, or adds it to y.
/// result(c) is row places[c] of `results`, or row c if `places` is null.
void add_choices(Stream stream, const float* results, const int32_t* places, int64_t rows, int used,
                 int64_t n, const ExpertChoice* chosen, float* y, bool add);
void add_choices(Stream stream, const uint16_t* results, const int32_t* places, int64_t rows,
                 int used, int64_t n, const ExpertChoice* chosen, float* y, bool add);

}  // namespace longhaul::cuda
