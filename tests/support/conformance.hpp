// What the conformance matrices of primitives share: the choices, what a device lacks for them, and
// rows in which every pair of choices occurs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/caps.hpp"
#include "lanewise/operators.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/test_device.hpp"

namespace lanewise::test {

inline constexpr Tier kTiers[] = {Tier::pinned, Tier::portable, Tier::barrier};
inline constexpr Operator kOperators[] = {Operator::sum,     Operator::product, Operator::min,
                                          Operator::max,     Operator::bit_and, Operator::bit_or,
                                          Operator::bit_xor, Operator::argmin,  Operator::argmax};

struct Types {
    Scalar element;
    Scalar accumulator;
};
inline constexpr Types kTypes[] = {
    {Scalar::u8, Scalar::u32},  {Scalar::u8, Scalar::u64},  {Scalar::i8, Scalar::i32},
    {Scalar::i8, Scalar::i64},  {Scalar::u16, Scalar::u32}, {Scalar::u16, Scalar::u64},
    {Scalar::i16, Scalar::i32}, {Scalar::i16, Scalar::i64}, {Scalar::f16, Scalar::f32},
    {Scalar::f16, Scalar::f64}, {Scalar::u32, Scalar::u32}, {Scalar::u32, Scalar::u64},
    {Scalar::i32, Scalar::i32}, {Scalar::i32, Scalar::i64}, {Scalar::f32, Scalar::f32},
    {Scalar::f32, Scalar::f64}, {Scalar::u64, Scalar::u64}, {Scalar::i64, Scalar::i64},
    {Scalar::f64, Scalar::f64},
};

inline bool is_bitwise(Operator op) {
    return op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
}

// Whether the operator is for the types at all, and the device has them.
inline bool has_types(const Caps& caps, const Types& types, Operator op) {
    if (is_bitwise(op) && is_float(types.element)) return false;
    if ((types.element == Scalar::f64 || types.accumulator == Scalar::f64) && !caps.types.float64)
        return false;
    // argmin and argmax take the default accumulator alone.
    return !is_arg(op) || size_of(types.accumulator) == std::max(4u, size_of(types.element));
}

// What the device cannot do, by its caps alone; empty: nothing.
inline std::string lacking(const Caps& caps, Tier tier) {
    const SubgroupCaps& subgroup = caps.subgroup;
    const std::uint32_t needed = SubgroupOperation::basic | SubgroupOperation::shuffle;
    if (tier == Tier::barrier) return {};
    if ((subgroup.stages & Stage::compute) == 0 || (subgroup.operations & needed) != needed) {
        return "no subgroup operations";
    }
    if (tier == Tier::pinned && ((subgroup.required_size_stages & Stage::compute) == 0 ||
                                 (!subgroup.full_subgroups && caps.api != Api::webgpu))) {
        return "no size can be required";
    }
    return {};
}

// Whether the device can have workgroups of `workgroup_size` in that tier.
inline bool has_workgroups(const Caps& caps, Tier tier, std::uint32_t workgroup_size) {
    if (workgroup_size > caps.limits.max_workgroup_invocations) return false;
    if (tier != Tier::pinned) return true;
    const std::uint32_t size = caps.subgroup.max_size;
    return workgroup_size >= size && workgroup_size / size <= caps.subgroup.max_workgroup_subgroups;
}

// Devices differ in this number, so that those which take some of the choices do not take the same.
inline std::size_t device_number() {
    const Caps& caps = TestDevice::shared().caps();
    return static_cast<std::size_t>(std::countr_zero(std::max(caps.subgroup.size, 1u))) +
           (caps.vendor_id == 0x10005 ? 0 : 3);  // Mesa's Khronos number: lavapipe
}

// Of all simulated devices they take longest.
inline bool has_small_subgroups() {
    const TestDevice& device = TestDevice::shared();
    return device.is_simulated() && device.caps().subgroup.size < 16;
}

// Tests of what every tier does.
class TierTest : public DeviceTest {
protected:
    // Where one tier is enough: with subgroups, where the device has any.
    static Tier subgroup_tier() {
        return lacking(device().caps(), Tier::portable).empty() ? Tier::portable : Tier::barrier;
    }

    // Calls f with each tier that the device has.
    template <class F>
    void for_each_tier(F&& f) {
        for (const Tier tier : kTiers) {
            if (!lacking(device().caps(), tier).empty()) continue;
            SCOPED_TRACE(to_text(tier));
            claim(tier);
            f(tier);
        }
    }
};

// One choice for each factor.
using Choice = std::vector<std::size_t>;

// Every combination of choices, the last factor taking turns; `sizes` says how many choices each
// factor has.
inline std::vector<Choice> all_choices(const std::vector<std::size_t>& sizes,
                                       const std::function<bool(const Choice&)>& possible) {
    std::vector<Choice> rows;
    std::size_t turn = 0;
    Choice choice(sizes.size());
    const std::function<void(std::size_t)> enumerate = [&](std::size_t factor) {
        if (factor + 1 < sizes.size()) {
            for (choice[factor] = 0; choice[factor] < sizes[factor]; ++choice[factor])
                enumerate(factor + 1);
            return;
        }
        for (std::size_t tried = 0; tried < sizes[factor]; ++tried) {
            choice[factor] = turn++ % sizes[factor];
            if (!possible(choice)) continue;
            rows.push_back(choice);
            return;
        }
    };
    enumerate(0);
    return rows;
}

// Every pair of choices for two factors that is possible at all occurs in some row. Greedy: each
// row takes the candidate, of some hashed ones, with the most pairs that no row has yet.
inline std::vector<Choice> pairwise_choices(const std::vector<std::size_t>& sizes,
                                            const std::function<bool(const Choice&)>& possible) {
    const std::size_t factors = sizes.size();
    std::vector<std::size_t> first(factors);  // number of a factor's first choice among all
    std::size_t total = 0;
    for (std::size_t factor = 0; factor < factors; ++factor) {
        first[factor] = total;
        total += sizes[factor];
    }
    std::vector<bool> covered(total * total);
    const auto pair_of = [&](std::size_t a, std::size_t i, std::size_t b, std::size_t j) {
        return (first[a] + i) * total + first[b] + j;
    };
    const auto for_each_pair = [&](const Choice& choice, auto&& f) {
        for (std::size_t a = 0; a < factors; ++a)
            for (std::size_t b = a + 1; b < factors; ++b) f(pair_of(a, choice[a], b, choice[b]));
    };
    std::vector<Choice> rows;
    std::uint64_t seed = 0;
    const auto close = [&](std::size_t a, std::size_t i, std::size_t b, std::size_t j) {
        Choice best;
        std::size_t best_score = 0;
        const auto consider = [&](const Choice& candidate) {
            std::size_t score = 0;
            for_each_pair(candidate, [&](std::size_t pair) { score += covered[pair] ? 0 : 1; });
            if (score <= best_score) return;
            best_score = score;
            best = candidate;
        };
        Choice candidate(factors);
        int found = 0;
        for (int tried = 0; tried < 200 && found < 40; ++tried) {
            for (std::size_t factor = 0; factor < factors; ++factor)
                candidate[factor] = hash(++seed) % sizes[factor];
            candidate[a] = i;
            candidate[b] = j;
            if (!possible(candidate)) continue;
            consider(candidate);
            ++found;
        }
        // Chance found none: look at them all, until one is possible.
        const std::function<bool(std::size_t)> search = [&](std::size_t factor) -> bool {
            if (factor == factors) return possible(candidate);
            if (factor == a || factor == b) return search(factor + 1);
            for (candidate[factor] = 0; candidate[factor] < sizes[factor]; ++candidate[factor])
                if (search(factor + 1)) return true;
            return false;
        };
        if (found == 0 && search(0)) consider(candidate);
        if (best.empty()) return;
        for_each_pair(best, [&](std::size_t pair) { covered[pair] = true; });
        rows.push_back(std::move(best));
    };
    for (std::size_t a = 0; a < factors; ++a) {
        for (std::size_t b = a + 1; b < factors; ++b) {
            for (std::size_t i = 0; i < sizes[a]; ++i) {
                for (std::size_t j = 0; j < sizes[b]; ++j) {
                    if (!covered[pair_of(a, i, b, j)]) close(a, i, b, j);
                }
            }
        }
    }
    return rows;
}

}  // namespace lanewise::test
