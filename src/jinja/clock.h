#pragma once
// Implements strftime_now(format), the function with which templates write the current date.

#include <ctime>

#include "jinja/value.h"

namespace longhaul::jinja {

/// Returns the time 00:00 of a day.
std::tm day(int year, int month, int day_of_month);

/// Returns the function strftime_now. `defined` is the result of `strftime_now is defined`. Some
/// templates test it and have a fallback date; others call the function without a test.
Value strftime_now(const std::tm& now, bool defined);

}  // namespace longhaul::jinja
