#pragma once
// strftime_now(format), by which templates write a date.

#include <ctime>

#include "jinja/value.h"

namespace longhaul::jinja {

/// The beginning of a day.
std::tm day(int year, int month, int day_of_month);

/// `defined`: what `strftime_now is defined` says. Templates that have a date of their own for
/// when there is no clock ask that; others just call it.
Value strftime_now(const std::tm& now, bool defined);

}  // namespace longhaul::jinja
