#include "src/spirv/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace lanewise::spirv {
namespace {

tl::unexpected<Error> fail(std::string message) {
    return tl::unexpected(Error{ErrorCode::bad_argument, "SPIR-V: " + std::move(message), {}});
}

std::uint64_t mask_of(std::uint32_t width) {
    return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

std::int64_t as_signed(std::uint64_t bits, std::uint32_t width) {
    if (width >= 64) return static_cast<std::int64_t>(bits);
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    return static_cast<std::int64_t>(((bits & mask_of(width)) ^ sign) - sign);
}

// One scalar of an OpSpecConstantOp; `in` is the width of the operands, `out` of the result.
std::optional<std::uint64_t> fold(spv::Op op, std::uint32_t in, std::uint32_t out, std::uint64_t a,
                                  std::uint64_t b, std::uint64_t c) {
    const std::int64_t sa = as_signed(a, in);
    const std::int64_t sb = as_signed(b, in);
    std::uint64_t r = 0;
    switch (op) {
        case spv::Op::OpSConvert: r = static_cast<std::uint64_t>(sa); break;
        case spv::Op::OpUConvert: r = a; break;
        case spv::Op::OpBitcast: r = a; break;
        case spv::Op::OpSNegate: r = 0 - a; break;
        case spv::Op::OpNot: r = ~a; break;
        case spv::Op::OpIAdd: r = a + b; break;
        case spv::Op::OpISub: r = a - b; break;
        case spv::Op::OpIMul: r = a * b; break;
        case spv::Op::OpUDiv:
            if (b == 0) return std::nullopt;
            r = a / b;
            break;
        case spv::Op::OpUMod:
            if (b == 0) return std::nullopt;
            r = a % b;
            break;
        case spv::Op::OpSDiv:
            if (sb == 0) return std::nullopt;
            r = sb == -1 ? 0 - a : static_cast<std::uint64_t>(sa / sb);
            break;
        case spv::Op::OpSRem:
        case spv::Op::OpSMod: {
            if (sb == 0) return std::nullopt;
            std::int64_t rem = sb == -1 ? 0 : sa % sb;
            if (op == spv::Op::OpSMod && rem != 0 && (rem < 0) != (sb < 0)) rem += sb;
            r = static_cast<std::uint64_t>(rem);
            break;
        }
        case spv::Op::OpShiftRightLogical:
            if (b >= in) return std::nullopt;
            r = a >> b;
            break;
        case spv::Op::OpShiftRightArithmetic:
            if (b >= in) return std::nullopt;
            r = static_cast<std::uint64_t>(sa >> b);
            break;
        case spv::Op::OpShiftLeftLogical:
            if (b >= in) return std::nullopt;
            r = a << b;
            break;
        case spv::Op::OpBitwiseOr: r = a | b; break;
        case spv::Op::OpBitwiseXor: r = a ^ b; break;
        case spv::Op::OpBitwiseAnd: r = a & b; break;
        case spv::Op::OpLogicalOr: r = (a != 0 || b != 0); break;
        case spv::Op::OpLogicalAnd: r = (a != 0 && b != 0); break;
        case spv::Op::OpLogicalNot: r = a == 0; break;
        case spv::Op::OpLogicalEqual: r = a == b; break;
        case spv::Op::OpLogicalNotEqual: r = a != b; break;
        case spv::Op::OpSelect: r = a != 0 ? b : c; break;
        case spv::Op::OpIEqual: r = a == b; break;
        case spv::Op::OpINotEqual: r = a != b; break;
        case spv::Op::OpULessThan: r = a < b; break;
        case spv::Op::OpSLessThan: r = sa < sb; break;
        case spv::Op::OpUGreaterThan: r = a > b; break;
        case spv::Op::OpSGreaterThan: r = sa > sb; break;
        case spv::Op::OpULessThanEqual: r = a <= b; break;
        case spv::Op::OpSLessThanEqual: r = sa <= sb; break;
        case spv::Op::OpUGreaterThanEqual: r = a >= b; break;
        case spv::Op::OpSGreaterThanEqual: r = sa >= sb; break;
        default: return std::nullopt;
    }
    return r & mask_of(out);
}

// Width of a type's scalars, for types whose scalars are all alike; booleans count as 1.
std::uint32_t scalar_width(const Module& module, Id id) {
    const Type& type = module.type(id);
    switch (type.kind) {
        case TypeKind::boolean: return 1;
        case TypeKind::integer:
        case TypeKind::floating: return type.width;
        case TypeKind::vector:
        case TypeKind::matrix:
        case TypeKind::array: return scalar_width(module, type.element);
        default: return 64;
    }
}

}  // namespace

std::uint64_t Constants::scalars_of(const Module& module, Id id) const {
    const auto found = module.types.find(id);
    if (found == module.types.end()) return 0;
    if (const auto known = scalars_.find(id); known != scalars_.end()) return known->second;
    return scalars_[id] = count_scalars(module, found->second);
}

std::uint64_t Constants::count_scalars(const Module& module, const Type& type) const {
    const auto bounded = [](std::uint64_t n) { return std::min(n, kMaxScalars + 1); };
    switch (type.kind) {
        case TypeKind::boolean:
        case TypeKind::integer:
        case TypeKind::floating:
        case TypeKind::pointer: return 1;
        case TypeKind::vector: return type.count;
        case TypeKind::matrix: return bounded(type.count * scalars_of(module, type.element));
        case TypeKind::array: {
            const std::uint64_t each = scalars_of(module, type.element);
            const std::uint64_t length =
                std::min<std::uint64_t>(scalar(type.length), kMaxScalars + 1);
            return bounded(each * length);
        }
        case TypeKind::structure: {
            std::uint64_t sum = 0;
            for (const Id member : type.members) sum = bounded(sum + scalars_of(module, member));
            return sum;
        }
        default: return 0;
    }
}

Result<Constants> Constants::evaluate(const Module& module,
                                      std::span<const Specialization> specialization) {
    Constants table;
    std::uint64_t total = 0;
    // First scalar of member `index` of a value of `type`, and the member's type.
    const auto member = [&](Id type,
                            std::uint32_t index) -> std::optional<std::pair<std::uint64_t, Id>> {
        const Type& composite = module.type(type);
        if (composite.kind == TypeKind::structure) {
            if (index >= composite.members.size()) return std::nullopt;
            std::uint64_t at = 0;
            for (std::uint32_t i = 0; i < index; ++i)
                at += table.scalars_of(module, composite.members[i]);
            return std::pair{at, composite.members[index]};
        }
        return std::pair{index * table.scalars_of(module, composite.element), composite.element};
    };
    for (const Instruction& in : module.constants) {
        Constant made;
        made.type = in.type;
        std::optional<std::uint64_t> set;
        if (const Decoration* spec = module.decoration(in.result, spv::Decoration::SpecId)) {
            for (const Specialization& entry : specialization) {
                if (entry.id == spec->literals[0]) set = entry.bits;
            }
        }
        const std::uint64_t count = table.scalars_of(module, in.type);
        total += count;
        if (total > kMaxScalars) {
            return fail(fmt::format("with constant {} its constants have more than {} scalars",
                                    module.name(in.result), kMaxScalars));
        }
        switch (in.op) {
            case spv::Op::OpConstantTrue: made.scalars = {1}; break;
            case spv::Op::OpConstantFalse: made.scalars = {0}; break;
            case spv::Op::OpSpecConstantTrue: made.scalars = {set ? *set != 0 : 1u}; break;
            case spv::Op::OpSpecConstantFalse: made.scalars = {set ? *set != 0 : 0u}; break;
            case spv::Op::OpConstant:
            case spv::Op::OpSpecConstant: {
                std::uint64_t bits = in.operands[0];
                if (in.operands.size() > 1) bits |= std::uint64_t{in.operands[1]} << 32;
                if (set) bits = *set;
                made.scalars = {bits & mask_of(scalar_width(module, in.type))};
                break;
            }
            case spv::Op::OpUndef: made.undefined = true; [[fallthrough]];
            case spv::Op::OpConstantNull: made.scalars.assign(count, 0); break;
            case spv::Op::OpConstantComposite:
            case spv::Op::OpSpecConstantComposite:
                for (const Id part : in.operands) {
                    const Constant* value = table.find(part);
                    if (value == nullptr) {
                        return fail(fmt::format("constant {} is made of {}, which is none",
                                                module.name(in.result), module.name(part)));
                    }
                    made.scalars.insert(made.scalars.end(), value->scalars.begin(),
                                        value->scalars.end());
                }
                break;
            case spv::Op::OpSpecConstantOp: {
                const auto op = static_cast<spv::Op>(in.operands[0]);
                const auto operands = in.operands.subspan(1);
                const auto unsupported = [&] {
                    return fail(fmt::format("constant {}: {} of these operands cannot be computed",
                                            module.name(in.result), op_name(op)));
                };
                const Constant* a = table.find(operands[0]);
                if (a == nullptr) return unsupported();
                if (op == spv::Op::OpCompositeExtract) {
                    std::uint64_t at = 0;
                    Id type = a->type;
                    for (const std::uint32_t index : operands.subspan(1)) {
                        const auto step = member(type, index);
                        if (!step) return unsupported();
                        at += step->first;
                        type = step->second;
                    }
                    if (at + count > a->scalars.size()) return unsupported();
                    made.scalars.assign(
                        a->scalars.begin() + static_cast<std::ptrdiff_t>(at),
                        a->scalars.begin() + static_cast<std::ptrdiff_t>(at + count));
                    break;
                }
                if (op == spv::Op::OpCompositeInsert) {
                    const Constant* into = table.find(operands[1]);
                    if (into == nullptr) return unsupported();
                    made.scalars = into->scalars;
                    std::uint64_t at = 0;
                    Id type = into->type;
                    for (const std::uint32_t index : operands.subspan(2)) {
                        const auto step = member(type, index);
                        if (!step) return unsupported();
                        at += step->first;
                        type = step->second;
                    }
                    if (at + a->scalars.size() > made.scalars.size()) return unsupported();
                    std::ranges::copy(a->scalars,
                                      made.scalars.begin() + static_cast<std::ptrdiff_t>(at));
                    break;
                }
                if (op == spv::Op::OpVectorShuffle) {
                    const Constant* b = table.find(operands[1]);
                    if (b == nullptr) return unsupported();
                    for (const std::uint32_t index : operands.subspan(2)) {
                        const std::size_t split = a->scalars.size();
                        if (index < split) {
                            made.scalars.push_back(a->scalars[index]);
                        } else if (index - split < b->scalars.size()) {
                            made.scalars.push_back(b->scalars[index - split]);
                        } else {
                            made.scalars.push_back(0);
                        }
                    }
                    break;
                }
                const Constant* b = operands.size() > 1 ? table.find(operands[1]) : a;
                const Constant* c = operands.size() > 2 ? table.find(operands[2]) : a;
                if (b == nullptr || c == nullptr) return unsupported();
                const std::uint32_t in_width =
                    scalar_width(module, op == spv::Op::OpSelect ? in.type : a->type);
                const std::uint32_t out_width = scalar_width(module, in.type);
                const auto pick = [](const Constant& value, std::size_t i) {
                    return value.scalars[std::min(i, value.scalars.size() - 1)];
                };
                if (a->scalars.empty() || b->scalars.empty() || c->scalars.empty())
                    return unsupported();
                for (std::size_t i = 0; i < count; ++i) {
                    const auto value =
                        fold(op, in_width, out_width, pick(*a, i), pick(*b, i), pick(*c, i));
                    if (!value) return unsupported();
                    made.scalars.push_back(*value);
                }
                break;
            }
            default: return fail(fmt::format("{} is no constant", op_name(in.op)));
        }
        if (made.scalars.size() != count) {
            return fail(fmt::format("constant {} has {} scalars where its type has {}",
                                    module.name(in.result), made.scalars.size(), count));
        }
        table.values_[in.result] = std::move(made);
    }
    return table;
}

}  // namespace lanewise::spirv
