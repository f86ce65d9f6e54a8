// scan, computed serially on the CPU: what every tier, strategy and API must answer. Used by the
// tests, by `--verify` and by the benchmark, so it stands on the public headers and on the
// reference of reduce.
//
//   scan_reference(desc, data)          the output, laid out as lanewise/scan.hpp says
//   scan_matches(desc, data, output)    whether a device's output is right
//
// One pass over the data, in the scan's direction: the state that combines the items so far takes
// an item, and each output is read off it.
//
// What "right" means
// - Integers, min, max, argmin, argmax of every type: bit for bit.
// - The first output of an exclusive scan: bit for bit (an initial NaN may be any NaN).
// - Sums and products of floats: each output for itself is held to what primitives/reduce's
//   reference demands of a reduction of the same items (exact where nothing is rounded, else within
//   gamma(k) * sum|x| or gamma(n) * |product|). k, the longest chain of additions that an item goes
//   through on its way to the output, grows with the items before the output: ScanDepth.
//   The initial value counts as an item.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "primitives/reduce/reduce_reference.hpp"

namespace lanewise {

// The longest chain of additions that an item goes through on its way to an output. Items are added
// up by invocations, these by trees over the workgroup, tiles and groups of tiles one after the
// other at worst.
struct ScanDepth {
    // No policy that is chosen has smaller workgroups, nor smaller tiles of floats.
    std::uint64_t tile_items = 64;
    std::uint64_t items_per_invocation = 2;
    std::uint64_t tiles_per_group = ~std::uint64_t{0};  // tiles that an invocation may add up
    std::uint64_t workgroup_size = 1024;

    // Of an output that combines `items` items.
    std::uint64_t of(std::uint64_t items) const {
        // In a reverse scan tiles end anywhere: one tile more.
        const std::uint64_t tiles = items / tile_items + 2;
        const std::uint64_t trees = 4 * static_cast<std::uint64_t>(std::bit_width(workgroup_size));
        return tiles + items_per_invocation * (std::min(tiles, tiles_per_group) + 1) + trees + 8;
    }
};

inline ScanDepth scan_depth(const Plan& plan) {
    ScanDepth depth;
    depth.workgroup_size = 4;
    for (const Pass& pass : plan.passes) {
        if (pass.when == When::always)
            depth.workgroup_size =
                std::max<std::uint64_t>(depth.workgroup_size, pass.workgroup_size);
    }
    depth.tile_items = plan.share.tile_items;
    depth.items_per_invocation =
        std::max<std::uint64_t>(1, depth.tile_items / depth.workgroup_size);
    depth.tiles_per_group = share_out(plan.share, plan.max_count).tiles_per_group;
    return depth;
}

// The same for any plan that desc may lead to.
inline ScanDepth scan_depth(const ScanDesc& desc) {
    ScanDepth depth;
    if (desc.policy) {
        depth.workgroup_size = std::max(desc.policy->workgroup_size, 4u);
        depth.items_per_invocation =
            std::max(desc.policy->vectors, 1u) * std::uint64_t{16} / size_of(desc.element);
        depth.tile_items = depth.workgroup_size * depth.items_per_invocation;
    }
    return depth;
}

namespace scan_reference_detail {

namespace base = reduce_reference_detail;

inline ReduceDesc reduction_of(const ScanDesc& desc) {
    return {.element = desc.element,
            .op = desc.op,
            .accumulator = desc.accumulator,
            .max_count = desc.max_count};
}

inline bool is_rounded(const ScanDesc& desc) {
    return is_float(desc.element) && (desc.op == Operator::sum || desc.op == Operator::product);
}

// Calls emit(i) for each output and take(i) for each item, in the order of the scan.
template <class Take, class Emit>
void in_order(const ScanDesc& desc, std::size_t count, Take&& take, Emit&& emit) {
    for (std::size_t step = 0; step < count; ++step) {
        const std::size_t i = desc.direction == Direction::forward ? step : count - 1 - step;
        if (desc.kind == ScanKind::exclusive) emit(i);
        take(i);
        if (desc.kind == ScanKind::inclusive) emit(i);
    }
}

// Writes outputs.
class Outputs {
public:
    Outputs(const ScanDesc& desc, std::size_t count)
        : result_bytes_(scan_result_bytes(desc)),
          value_bytes_(size_of(scan_accumulator(desc))),
          index_bytes_(is_arg(desc.op) ? reduce_index_bytes(reduction_of(desc)) : 0),
          bytes_(count * result_bytes_) {}

    // Of the value the low bytes; a value of 4 bytes beside an index of 8 has zeros above it.
    void put(std::size_t index, std::uint64_t value, std::uint64_t item) {
        std::byte* at = bytes_.data() + index * result_bytes_;
        std::memcpy(at, &value, value_bytes_);
        if (index_bytes_ != 0) std::memcpy(at + index_bytes_, &item, index_bytes_);
    }
    void put(std::size_t index, std::span<const std::byte> output) {
        std::memcpy(bytes_.data() + index * result_bytes_, output.data(), result_bytes_);
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::uint32_t result_bytes_, value_bytes_, index_bytes_;
    std::vector<std::byte> bytes_;
};

inline std::uint64_t bits_of(double value, Scalar accumulator) {
    return accumulator == Scalar::f64 ? std::bit_cast<std::uint64_t>(value)
                                      : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

// The output for no items.
inline std::vector<std::byte> empty_output(const ScanDesc& desc) {
    if (!desc.initial) return reduce_reference({}, reduction_of(desc));
    std::vector<std::byte> bytes(scan_result_bytes(desc));
    std::memcpy(bytes.data(), &*desc.initial, size_of(scan_accumulator(desc)));
    return bytes;
}

template <class T>
std::vector<std::byte> scan_integers(const ScanDesc& desc, std::span<const std::byte> data) {
    // T extended to 64 bits keeps its order as a signed or as an unsigned number.
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    using U = std::uint64_t;
    const std::size_t count = data.size() / sizeof(T);
    const std::vector<std::byte> empty = empty_output(desc);
    Outputs outputs(desc, count);
    const auto item = [&](std::size_t i) { return static_cast<Wide>(base::load<T>(data, i)); };
    // Initial value or identity, extended as items are.
    const bool wide = size_of(scan_accumulator(desc)) == 8;
    Wide start = 0;
    if (wide) {
        start = static_cast<Wide>(base::word(empty, 0, 8));
    } else if constexpr (std::is_signed_v<T>) {
        start = static_cast<std::int32_t>(base::word(empty, 0, 4));
    } else {
        start = base::word(empty, 0, 4);
    }
    const auto fold = [&](auto combine) {
        U value = static_cast<U>(start);
        in_order(
            desc, count, [&](std::size_t i) { value = combine(value, static_cast<U>(item(i))); },
            [&](std::size_t i) { outputs.put(i, value, 0); });
    };
    // The lowest index wins: in a reverse scan that is the last of equal items.
    const bool last_wins = desc.direction == Direction::reverse;
    const auto pick = [&](auto better) {
        Wide best = start;
        U index = ~U{0};
        bool any = desc.initial.has_value();
        in_order(
            desc, count,
            [&](std::size_t i) {
                const Wide candidate = item(i);
                if (any && !better(candidate, best) && !(last_wins && candidate == best)) return;
                best = candidate;
                index = i;
                any = true;
            },
            [&](std::size_t i) { outputs.put(i, static_cast<U>(best), index); });
    };
    switch (desc.op) {
        case Operator::sum: fold([](U a, U b) { return a + b; }); break;
        case Operator::product: fold([](U a, U b) { return a * b; }); break;
        case Operator::bit_and: fold([](U a, U b) { return a & b; }); break;
        case Operator::bit_or: fold([](U a, U b) { return a | b; }); break;
        case Operator::bit_xor: fold([](U a, U b) { return a ^ b; }); break;
        case Operator::min:
        case Operator::argmin: pick([](Wide a, Wide b) { return a < b; }); break;
        case Operator::max:
        case Operator::argmax: pick([](Wide a, Wide b) { return a > b; }); break;
    }
    return outputs.take();
}

// min, max, argmin, argmax.
template <class T>
std::vector<std::byte> scan_picks(const ScanDesc& desc, std::span<const std::byte> data) {
    const std::size_t count = data.size() / sizeof(T);
    const Scalar accumulator = scan_accumulator(desc);
    const bool smallest = desc.op == Operator::min || desc.op == Operator::argmin;
    const std::int64_t last_wins = desc.direction == Direction::reverse ? 1 : 0;
    const std::vector<std::byte> empty = empty_output(desc);
    Outputs outputs(desc, count);
    double best = 0.0;
    std::uint64_t index = ~std::uint64_t{0};
    bool number = false;  // something that is no NaN was taken
    const auto take = [&](double value, std::uint64_t i) {
        if (std::isnan(value)) return;
        const std::int64_t here = base::image(value), there = base::image(best);
        if (number && (smallest ? here >= there + last_wins : here + last_wins <= there)) return;
        best = value;
        index = i;
        number = true;
    };
    if (desc.initial) take(static_cast<double>(base::as_float(*desc.initial, accumulator)), index);
    std::size_t steps = 0;
    in_order(
        desc, count,
        [&](std::size_t i) {
            take(base::to_double(base::load<T>(data, i)), i);
            ++steps;
        },
        [&](std::size_t i) {
            if (steps == 0) {
                outputs.put(i, empty);
            } else if (number) {
                outputs.put(i, bits_of(best, accumulator), index);
            } else {
                // The lowest index of all those NaN.
                const std::uint64_t lowest = last_wins != 0 ? count - steps : 0;
                outputs.put(i, bits_of(std::numeric_limits<double>::quiet_NaN(), accumulator),
                            lowest);
            }
        });
    return outputs.take();
}

// Calls f(i, facts, steps): what is known of the items that output i combines (the initial value
// among them), and how many they are.
template <class F>
void for_each_sum(const ScanDesc& desc, std::span<const std::byte> data, F&& f) {
    base::with_float(desc.element, [&]<class T>(T) {
        base::FloatFacts facts;
        std::uint64_t steps = 0;
        if (desc.initial)
            facts.take(static_cast<double>(base::as_float(*desc.initial, scan_accumulator(desc))));
        in_order(
            desc, data.size() / sizeof(T),
            [&](std::size_t i) {
                facts.take(base::to_double(base::load<T>(data, i)));
                ++steps;
            },
            [&](std::size_t i) { f(i, facts, steps); });
    });
}

}  // namespace scan_reference_detail

// The output for all whole elements of `data`: scan_result_bytes(desc) bytes for each. Sums and
// products of floats are those of real arithmetic, rounded once. Precondition: plan_scan accepts
// desc on some device.
inline std::vector<std::byte> scan_reference(const ScanDesc& desc,
                                             std::span<const std::byte> data) {
    namespace detail = scan_reference_detail;
    namespace base = reduce_reference_detail;
    std::vector<std::byte> output;
    if (!is_float(desc.element)) {
        base::with_integer(desc.element,
                           [&]<class T>(T) { output = detail::scan_integers<T>(desc, data); });
    } else if (!detail::is_rounded(desc)) {
        base::with_float(desc.element,
                         [&]<class T>(T) { output = detail::scan_picks<T>(desc, data); });
    } else {
        const Scalar accumulator = scan_accumulator(desc);
        const std::vector<std::byte> empty = detail::empty_output(desc);
        detail::Outputs outputs(desc, data.size() / size_of(desc.element));
        detail::for_each_sum(
            desc, data, [&](std::size_t i, const base::FloatFacts& facts, std::uint64_t steps) {
                if (steps == 0) return outputs.put(i, empty);
                const long double exact = base::exact_value(facts, desc.op);
                const std::uint64_t bits =
                    accumulator == Scalar::f64
                        ? std::bit_cast<std::uint64_t>(static_cast<double>(exact))
                        : std::bit_cast<std::uint32_t>(static_cast<float>(exact));
                outputs.put(i, bits, 0);
            });
        output = outputs.take();
    }
    return output;
}

// Whether `output` is a right answer for `data`; if not, `why` (may be null) gets one line that
// says which output is the first wrong one, in the order of the scan, and what was expected. `plan`
// (may be null) tightens the bound of float sums.
inline bool scan_matches(const ScanDesc& desc, std::span<const std::byte> data,
                         std::span<const std::byte> output, std::string* why = nullptr,
                         const Plan* plan = nullptr) {
    namespace detail = scan_reference_detail;
    namespace base = reduce_reference_detail;
    const std::size_t count = data.size() / size_of(desc.element);
    const std::uint32_t bytes = scan_result_bytes(desc);
    const Scalar accumulator = scan_accumulator(desc);
    std::size_t wrong = 0;
    std::string first;
    if (output.size() != count * bytes) {
        if (why != nullptr) {
            *why = "the output has " + std::to_string(output.size()) + " bytes, not " +
                   std::to_string(count * bytes);
        }
        return false;
    }
    const auto complain = [&](std::size_t i, const std::string& difference) {
        if (wrong++ == 0)
            first =
                "output " + std::to_string(i) + " of " + std::to_string(count) + ": " + difference;
    };
    const ReduceDesc reduction = detail::reduction_of(desc);
    if (detail::is_rounded(desc)) {
        const ScanDepth depth = plan != nullptr ? scan_depth(*plan) : scan_depth(desc);
        const std::vector<std::byte> empty = detail::empty_output(desc);
        detail::for_each_sum(
            desc, data, [&](std::size_t i, const base::FloatFacts& facts, std::uint64_t steps) {
                const auto here = output.subspan(i * bytes, bytes);
                const std::string difference =
                    steps == 0 && !facts.nan
                        ? base::exact_difference(reduction, empty, here)
                        : base::rounded_difference(facts, desc.op, accumulator, depth.of(steps),
                                                   base::word(here, 0, bytes));
                if (!difference.empty()) complain(i, difference);
            });
    } else {
        const std::vector<std::byte> expected = scan_reference(desc, data);
        if (std::ranges::equal(expected, output)) return true;
        detail::in_order(
            desc, count, [](std::size_t) {},
            [&](std::size_t i) {
                const auto here = output.subspan(i * bytes, bytes);
                const auto there = std::span<const std::byte>(expected).subspan(i * bytes, bytes);
                if (std::ranges::equal(here, there)) return;
                complain(i, base::exact_difference(reduction, there, here));
            });
    }
    if (wrong == 0) return true;
    if (why != nullptr) {
        *why = first;
        if (wrong > 1) *why += " (first of " + std::to_string(wrong) + " wrong outputs)";
    }
    return false;
}

}  // namespace lanewise
