// histogram: how many samples fall into each of a row of even bins.
// primitives/histogram/histogram.md explains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lanewise/error.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"

namespace lanewise {

enum class HistogramStrategy : std::uint8_t {
    // One pass of one workgroup, which counts in workgroup memory and writes the output.
    one_workgroup,
    // One pass: each workgroup counts in workgroup memory and adds that to one table in memory; the
    // last to finish moves the table to the output. Not on WebGPU, which has no memory barrier of
    // device scope.
    last_workgroup,
    // histogram_zeros, then histogram_tiles, where each workgroup adds its table to the output.
    two_pass,
    // The same passes, each sample added to the output in memory: for more bins than workgroup
    // memory holds.
    global,
};

// The tunables of a plan. histogram_policy() chooses; a caller may pass its own.
struct HistogramPolicy {
    HistogramStrategy strategy = HistogramStrategy::last_workgroup;
    std::uint32_t workgroup_size = 256;  // W: a power of two, 4 to 1024
    // 16-byte loads of each invocation and tile: 1, 2, 4 or 8; of three channels, three times that.
    std::uint32_t vectors = 4;
    // Tables of a workgroup, which its invocations take in turns: a power of two, 1 to 32. Means
    // nothing with global.
    std::uint32_t copies = 8;
    std::uint32_t max_groups = 1024;  // workgroups of one dispatch

    bool operator==(const HistogramPolicy&) const = default;
};

// Samples x with lower <= x < upper.
struct HistogramRange {
    double lower = 0.0;
    double upper = 0.0;

    bool operator==(const HistogramRange&) const = default;
};

struct HistogramDesc {
    Scalar sample = Scalar::u8;  // u8, i8, u16, i16, u32, i32, f16 or f32
    // Samples of an item, side by side, 1 to 4, each counted in a histogram of its own: 4 of u8 are
    // pixels of RGBA8.
    std::uint32_t channels = 1;
    std::uint32_t bins = 256;  // of each channel, 1 to 2^20
    // Of all channels. Not set: all values of an integer type. Of integers whole numbers of 32
    // bits: from -2^31 to 2^31, of u32 from 0 to 2^32. Of floats finite, and taken as the nearest
    // f32.
    std::optional<HistogramRange> range;
    std::uint64_t max_count = 0;  // items, at most, of any use of the plan; below 2^32
    // Forced where set; impossible is an error that says what is missing.
    std::optional<Tier> tier;
    std::optional<Addressing> addressing;
    std::optional<HistogramPolicy> policy;
};

// Plans a histogram.
//
// Output: channels * bins numbers, u32, channel after channel. An empty input writes zeros. The
// output may not overlap the input.
//
// Bins: of integers x is in bin floor((x - lower) * bins / (upper - lower)), exactly, whether or
// not bins divide the range; there may be more bins than values. Samples below lower, and from
// upper on, are not counted.
//
// Of floats the same holds in units: u is the least power of two such that R = ceil(upper / u) -
// floor(lower / u) is at most 2^31, and x is in bin floor((floor(x / u) - floor(lower / u)) * bins
// / R). So bin i > 0 begins at the multiple of u that is not below lower + i * (upper - lower) /
// bins in exact arithmetic (where lower and upper are multiples of u), and no rounding of floats
// decides. Comparisons with lower and upper are exact; -0 is 0. NaN, infinities and what is out of
// the range are not counted.
//
// Counts are the same on every tier, API and device. No subgroup operation is needed, so that the
// same kernels serve all tiers: a plan is of tier barrier, or of the one that is asked for.
//
// Errors: bad_argument (an impossible number of channels or bins, range or policy), unsupported
// (samples of 64 bits, a forced tier or a strategy that the device lacks), limit_exceeded (counts
// above 32 bits, a table above the device's workgroup memory, bytes of input or output above its
// largest binding where device addresses are not enabled).
Result<Plan> plan_histogram(const Caps& caps, const HistogramDesc& desc);

// The policy that plan_histogram uses where desc.policy is not set.
HistogramPolicy histogram_policy(const Caps& caps, const HistogramDesc& desc);

const char* to_text(HistogramStrategy strategy);
std::optional<HistogramStrategy> histogram_strategy_from_text(std::string_view text);
std::string to_text(const HistogramPolicy& policy);

}  // namespace lanewise
