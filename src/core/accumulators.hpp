// What reduce and scan have in common: elements and accumulators, their layout in the kernels, and
// which operators they suit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanewise/caps.hpp"
#include "lanewise/custom.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"

namespace lanewise::detail {

// An operator on elements, with the accumulator that the caller asked for; or a custom one, beside
// which the stock ones mean nothing.
struct Combination {
    Scalar element = Scalar::u32;
    Operator op = Operator::sum;
    std::optional<Scalar> accumulator;
    std::uint64_t max_count = 0;
    const CustomOperator* custom = nullptr;
};

// Of a ReduceDesc or ScanDesc, which must outlive it.
template <class Desc>
Combination combination_of(const Desc& desc) {
    return {desc.element, desc.op, desc.accumulator, desc.max_count,
            desc.custom ? &*desc.custom : nullptr};
}

std::uint32_t element_bytes(const Combination& combination);
// Of the vectors that kernels read (kernels/tile/load.glsl): 16, or an element that does not divide
// it.
std::uint32_t vector_bytes(const Combination& combination);
// "u32"; of a custom operator its fields. `output_text` is what the primitive gives.
std::string element_text(const Combination& combination);
std::string output_text(const Combination& combination);
std::string operator_text(const Combination& combination);
// What names of kernels say of types: "e32_a32", "bounding_box_0123456789abcdef".
std::string kernel_types(const Combination& combination);

// The accumulator where none is asked for: the element, but 32 bits at least.
Scalar default_accumulator(Scalar element);
// Bytes of each of the two words of an argmin or argmax result: 4 or 8.
std::uint32_t index_bytes(const Combination& combination);
// Bytes of a result.
std::uint32_t result_bytes(const Combination& combination);

// What kernels hold: raw words, so that shuffles need no extended types.
struct AccumulatorLayout {
    bool float64 = false;  // arithmetic in 64-bit floats
    std::uint32_t value_bits = 32;
    std::uint32_t index_bits = 0;  // argmin and argmax
    const CustomOperator* custom = nullptr;
    bool segmented = false;  // with a head (kernels/item/segmented.glsl): a word more

    std::uint32_t bytes() const {  // in scratch and state
        return (value_bits + index_bits) / 8 + (segmented ? 4 : 0);
    }
    std::uint32_t workgroup_bytes() const;  // in workgroup memory, at most
    std::string name() const;               // "a32_i32": in kernel names
};

AccumulatorLayout layout_of(const Combination& combination);

// Empty when the operator and the accumulator suit the element.
std::string mismatch(const Combination& combination);

// Whether the order of combination shows in the result: sums and products of floats, and whatever a
// custom operator does to them.
bool rounds(const Combination& combination);

// The number that kernels know a kind of element by (kernels/item/names.glsl).
std::uint32_t element_kind(Scalar element);

// The largest workgroup that the device allows, a power of two.
std::uint32_t largest_workgroup(const Caps& caps);
// Refuses a device without usable workgroups. `primitive` goes into messages, here and below.
Result<void> check_workgroups(const Caps& caps, const char* primitive);
// Refuses a policy's workgroup above the device's largest.
Result<void> check_workgroup_size(const Caps& caps, std::uint32_t w, const char* primitive);
// The subgroup size that a policy's workgroup requires in the pinned tier, an error where there is
// none; 0 in the others.
Result<std::uint32_t> required_subgroup_size(const Caps& caps, Tier tier, std::uint32_t w,
                                             const char* primitive);
// A policy's workgroup as the device can run it in this tier.
std::uint32_t fitted_workgroup(const Caps& caps, Tier tier, std::uint32_t w);

// Partials that uses of up to `count` items may write: monotone in count, as ceil(tiles /
// tiles_per_group) is not.
std::uint64_t partials_bound(const Share& share, std::uint64_t count);

// Refuses what no tier and no policy can serve: counts above 2^48, arithmetic in f64 without the
// feature, devices without usable workgroups. `primitive` goes into messages.
Result<void> check_device(const Caps& caps, const Combination& combination, const char* primitive);

// How buffers of up to `most_bytes` reach the kernels. `bindings`: of the pass with the most.
// `primitive` and `what` ("items of u32") go into messages.
Result<Addressing> choose_addressing(const Caps& caps, std::optional<Addressing> wanted,
                                     std::uint64_t max_count, std::uint64_t most_bytes,
                                     std::uint32_t bindings, const char* primitive,
                                     const std::string& what);

}  // namespace lanewise::detail
