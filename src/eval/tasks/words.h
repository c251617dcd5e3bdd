#pragma once
// Makes random keys from words.

#include <string>
#include <string_view>

#include "eval/random.h"

namespace longhaul {

inline constexpr std::string_view kAdjectives[] = {
    "amber",  "brave",  "calm",    "clever", "crisp",  "dusty",  "eager",  "faint",  "fancy",
    "gentle", "giddy",  "golden",  "grand",  "hasty",  "hollow", "humble", "icy",    "jolly",
    "keen",   "lively", "lonely",  "loud",   "lucky",  "mellow", "misty",  "narrow", "noble",
    "odd",    "pale",   "patient", "plain",  "polite", "proud",  "quaint", "quick",  "quiet",
    "rapid",  "rare",   "rough",   "rusty",  "shiny",  "silent", "silver", "sleepy", "smooth",
    "solid",  "spicy",  "steady",  "stormy", "subtle", "sunny",  "tender", "tidy",   "tiny",
    "vague",  "vivid",  "warm",    "weary",  "wild",   "wooden"};
inline constexpr std::string_view kNouns[] = {
    "anchor",  "apple",  "badge",   "barrel", "basket",  "beacon", "bell",   "blanket", "bottle",
    "bridge",  "bucket", "button",  "candle", "canoe",   "carpet", "castle", "chimney", "clock",
    "copper",  "cradle", "curtain", "dagger", "drum",    "engine", "falcon", "feather", "fiddle",
    "garden",  "glove",  "hammer",  "harbor", "helmet",  "island", "jacket", "kettle",  "ladder",
    "lantern", "lemon",  "locket",  "magnet", "meadow",  "mirror", "needle", "orchard", "paddle",
    "parrot",  "pepper", "pigeon",  "pillow", "pocket",  "puzzle", "ribbon", "saddle",  "shovel",
    "spider",  "tunnel", "turnip",  "violin", "whistle", "window"};

/// Returns a key such as "quiet-lantern".
inline std::string random_key(Random& random) {
  return std::string(random.pick(kAdjectives)) + "-" + std::string(random.pick(kNouns));
}

}  // namespace longhaul
