#pragma once
// strftime_now(format), with which templates write a date.

#include <ctime>

#include "jinja/value.h"

namespace longhaul::jinja {

/// The beginning of a day.
std::tm day(int year, int month, int day_of_month);

/// `defined` is the result of `strftime_now is defined`. Some templates have a fallback date for
/// this case and test it; others call the function without testing.
Value strftime_now(const std::tm& now, bool defined);

}  // namespace longhaul::jinja
