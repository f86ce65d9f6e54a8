// The values of a module's constants once specialisation has set some of them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/spirv/module.hpp"

namespace lanewise::spirv {

// The value of the constant decorated SpecId `id`: its bits, zero-extended.
struct Specialization {
    std::uint32_t id = 0;
    std::uint64_t bits = 0;
};

// A value flattened into its scalars, in order of members; each holds its bits, zero-extended, and
// booleans 0 or 1. Arrays without a length have no value.
struct Constant {
    Id type = 0;
    std::vector<std::uint64_t> scalars;
    bool undefined = false;  // OpUndef
};

// No type of a module that is run, nor all its constants together, may have more scalars than this:
// a bound on memory, as the simulator keeps 128 lanes of each.
inline constexpr std::uint64_t kMaxScalars = 1u << 16;

class Constants {
public:
    static Result<Constants> evaluate(const Module& module,
                                      std::span<const Specialization> specialization);

    const Constant* find(Id id) const {
        const auto found = values_.find(id);
        return found == values_.end() ? nullptr : &found->second;
    }
    // Of a scalar constant; 0 when there is none.
    std::uint64_t scalar(Id id) const {
        const Constant* found = find(id);
        return found == nullptr || found->scalars.empty() ? 0 : found->scalars[0];
    }
    // How many scalars a value of this type has; 0 for types without a value, kMaxScalars + 1 for
    // those that are too large.
    std::uint64_t scalars_of(const Module& module, Id type) const;

private:
    std::uint64_t count_scalars(const Module& module, const Type& type) const;

    std::unordered_map<Id, Constant> values_;
    // By type: types that share parts would else be walked again and again. Lengths of arrays come
    // before the arrays.
    mutable std::unordered_map<Id, std::uint64_t> scalars_;
};

}  // namespace lanewise::spirv
