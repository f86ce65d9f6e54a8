// Decodes a module into a Program: one walk over the functions that the entry point reaches.

#include "src/simulator/program.hpp"

#include <fmt/format.h>
#include <spirv/unified1/GLSL.std.450.h>
#include <algorithm>
#include <set>
#include <unordered_map>

#include "src/simulator/engine.hpp"

namespace lanewise::simulator::detail {
namespace {

using spirv::Constant;
using spirv::Constants;
using spirv::Id;
using spirv::Instruction;
using spirv::Module;
using spirv::Type;
using spirv::TypeKind;
using spv::Decoration;
using spv::Op;

// More registers than this would not fit memory for 128 lanes.
constexpr std::uint64_t kMaxSlots = 1u << 18;
// No device has as much; the checks need some thirty times of it for every workgroup.
constexpr std::uint64_t kMaxWorkgroupBytes = 1u << 20;
constexpr std::uint64_t kMaxPushConstantBytes = 1u << 16;
// Offsets within one value that is loaded or stored are kept in 32 bits.
constexpr std::uint64_t kMaxValueBytes = 1u << 30;

std::uint64_t round_up_to(std::uint64_t n, std::uint64_t alignment) {
    return (n + alignment - 1) / alignment * alignment;
}

struct MatrixLayout {
    std::uint32_t stride = 0;
    bool row_major = false;
};

class Decoder {
public:
    Decoder(const Module& module, const Constants& constants) : m_(module), k_(constants) {}

    Result<Program> decode(std::string_view entry_point) {
        const auto entry = std::ranges::find_if(m_.entry_points, [&](const spirv::EntryPoint& e) {
            return e.name == entry_point && e.model == spv::ExecutionModel::GLCompute;
        });
        if (entry == m_.entry_points.end()) {
            return tl::unexpected(
                Error{ErrorCode::bad_argument,
                      fmt::format("simulator: the module has no compute entry point named {}",
                                  entry_point),
                      {}});
        }
        p_.files.emplace_back();
        workgroup_size(*entry);
        for (const Instruction& in : m_.constants) types_[in.result] = in.type;
        for (const Instruction& in : m_.variables) {
            types_[in.result] = in.type;
            global(in);
        }
        if (!error_.empty()) return failure();
        p_.workgroup_bytes = static_cast<std::uint32_t>(round_up_to(workgroup_bytes_, 4));

        std::vector<Id> reached{entry->function};
        for (std::size_t i = 0; i < reached.size(); ++i) {
            const spirv::Function& function = m_.functions[m_.function_index.at(reached[i])];
            for (const spirv::Block& block : function.blocks) {
                for (const Instruction& in : block.body) {
                    if (in.op == Op::OpFunctionCall &&
                        std::ranges::find(reached, in.operands[0]) == reached.end())
                        reached.push_back(in.operands[0]);
                }
            }
        }
        for (const Id id : reached) {
            function_numbers_[id] = static_cast<std::uint32_t>(p_.functions.size());
            p_.functions.emplace_back();
            prepare(m_.functions[m_.function_index.at(id)], p_.functions.back());
        }
        for (const Id id : reached) {
            if (!error_.empty()) return failure();
            function(m_.functions[m_.function_index.at(id)]);
        }
        if (!error_.empty()) return failure();
        p_.entry = 0;
        p_.slots = static_cast<std::uint32_t>(slots_);
        if (p_.code.size() >= (1u << 24)) error_ = "the shader has too many instructions";
        if (!error_.empty()) return failure();
        return std::move(p_);
    }

private:
    tl::unexpected<Error> failure() const {
        return tl::unexpected(Error{ErrorCode::unsupported, "simulator: " + error_, {}});
    }

    void unsupported(const Instruction& in, std::string_view why = "is not supported") {
        if (!error_.empty()) return;
        const std::string file = m_.file(in.line);
        error_ = fmt::format(
            "{}{} {}",
            in.line.line != 0 ? fmt::format("{}:{}: ", file, in.line.line) : std::string(),
            spirv::op_name(in.op), why);
    }

    // --- types ---

    const Type& type(Id id) const { return m_.type(id); }
    std::uint32_t count_of(Id type_id) {
        const std::uint64_t n = k_.scalars_of(m_, type_id);
        if (n > spirv::kMaxScalars && error_.empty()) error_ = "a type has too many scalars";
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, spirv::kMaxScalars));
    }
    // Of the scalars of a type whose scalars are alike; pointers have 64 bits, booleans 32.
    std::uint32_t width_of(Id type_id) const {
        const Type& t = type(type_id);
        switch (t.kind) {
            case TypeKind::integer:
            case TypeKind::floating: return t.width;
            case TypeKind::vector:
            case TypeKind::matrix:
            case TypeKind::array: return width_of(t.element);
            case TypeKind::pointer: return 64;
            case TypeKind::structure: return t.members.empty() ? 32 : width_of(t.members[0]);
            default: return 32;
        }
    }
    bool holds_float(Id type_id) const {
        const Type& t = type(type_id);
        if (t.kind == TypeKind::vector || t.kind == TypeKind::matrix) return holds_float(t.element);
        return t.kind == TypeKind::floating;
    }
    Id type_of(Id value) const {
        const auto found = types_.find(value);
        return found == types_.end() ? 0 : found->second;
    }

    Space space_of(spv::StorageClass storage, const Instruction& in) {
        switch (storage) {
            case spv::StorageClass::Function:
            case spv::StorageClass::Private:
            case spv::StorageClass::Input: return Space::registers;
            case spv::StorageClass::StorageBuffer:
            case spv::StorageClass::Uniform:
            case spv::StorageClass::PushConstant:
            case spv::StorageClass::Workgroup: return Space::objects;
            case spv::StorageClass::PhysicalStorageBuffer: return Space::physical;
            default:
                unsupported(in, "in this storage class is not supported");
                return Space::registers;
        }
    }

    // Without offsets in the module (workgroup memory) scalars follow each other, each at a
    // multiple of its size.
    struct Extent {
        std::uint64_t bytes = 0;
        std::uint64_t alignment = 1;
    };
    Extent extent(Id type_id, MatrixLayout matrix = {}) const {
        const auto key = std::tuple{type_id, matrix.stride, matrix.row_major};
        if (const auto found = extents_.find(key); found != extents_.end()) return found->second;
        return extents_[key] = measure(type_id, matrix);
    }
    Extent measure(Id type_id, MatrixLayout matrix) const {
        const Type& t = type(type_id);
        switch (t.kind) {
            case TypeKind::boolean: return {4, 4};
            case TypeKind::integer:
            case TypeKind::floating: return {t.width / 8, t.width / 8};
            case TypeKind::pointer: return {8, 8};
            case TypeKind::vector: {
                const Extent e = extent(t.element);
                return {e.bytes * t.count, e.alignment};
            }
            case TypeKind::matrix: {
                const Extent column = extent(t.element);
                const std::uint32_t rows = type(t.element).count;
                if (matrix.stride == 0) return {column.bytes * t.count, column.alignment};
                return {std::uint64_t{matrix.stride} * (matrix.row_major ? rows : t.count),
                        column.alignment};
            }
            case TypeKind::array: {
                const Extent e = extent(t.element, matrix);
                const std::uint64_t length = std::min<std::uint64_t>(k_.scalar(t.length), 1u << 30);
                return {std::min<std::uint64_t>(stride_of(type_id) * length, 1u << 31),
                        e.alignment};
            }
            case TypeKind::runtime_array: return {0, extent(t.element, matrix).alignment};
            case TypeKind::structure: {
                Extent sum;
                for (std::uint32_t i = 0; i < t.members.size(); ++i) {
                    const Extent e = extent(t.members[i], matrix_of(type_id, i));
                    sum.alignment = std::max(sum.alignment, e.alignment);
                    sum.bytes = std::max(sum.bytes, member_offset(type_id, i) + e.bytes);
                }
                if (m_.member_decoration(type_id, 0, Decoration::Offset) == nullptr)
                    sum.bytes = round_up_to(sum.bytes, sum.alignment);
                return sum;
            }
            default: return {};
        }
    }
    std::uint64_t stride_of(Id array) const {
        if (const auto* stride = m_.decoration(array, Decoration::ArrayStride))
            return stride->literals[0];
        const Extent e = extent(type(array).element);
        return round_up_to(e.bytes, e.alignment);
    }
    std::uint64_t member_offset(Id structure, std::uint32_t member) const {
        if (const auto* offset = m_.member_decoration(structure, member, Decoration::Offset))
            return offset->literals[0];
        std::uint64_t at = 0;
        const Type& t = type(structure);
        for (std::uint32_t i = 0; i <= member; ++i) {
            const Extent e = extent(t.members[i]);
            at = round_up_to(at, e.alignment);
            if (i < member) at += e.bytes;
        }
        return at;
    }
    MatrixLayout matrix_of(Id structure, std::uint32_t member) const {
        MatrixLayout layout;
        if (const auto* stride = m_.member_decoration(structure, member, Decoration::MatrixStride))
            layout.stride = stride->literals[0];
        layout.row_major = m_.member_decoration(structure, member, Decoration::RowMajor) != nullptr;
        return layout;
    }

    void add_leaves(Layout& layout, Id type_id, std::uint64_t at, MatrixLayout matrix) {
        const Type& t = type(type_id);
        if (at > kMaxValueBytes && error_.empty())
            error_ = "a value that is loaded or stored is too large";
        if (!error_.empty()) return;
        switch (t.kind) {
            case TypeKind::boolean:
            case TypeKind::integer:
            case TypeKind::floating:
            case TypeKind::pointer: {
                const Extent e = extent(type_id);
                layout.leaves.push_back(
                    {static_cast<std::uint32_t>(at), static_cast<std::uint8_t>(e.bytes)});
                layout.alignment =
                    std::max(layout.alignment, static_cast<std::uint32_t>(e.alignment));
                break;
            }
            case TypeKind::vector: {
                // A column of a row-major matrix is spread out.
                const std::uint64_t step = matrix.row_major && matrix.stride != 0
                                               ? matrix.stride
                                               : extent(t.element).bytes;
                for (std::uint32_t i = 0; i < t.count; ++i)
                    add_leaves(layout, t.element, at + i * step, {});
                break;
            }
            case TypeKind::matrix: {
                const std::uint64_t scalar = extent(type(t.element).element).bytes;
                const std::uint64_t step = matrix.stride == 0 ? extent(t.element).bytes
                                           : matrix.row_major ? scalar
                                                              : matrix.stride;
                for (std::uint32_t i = 0; i < t.count; ++i)
                    add_leaves(layout, t.element, at + i * step, matrix);
                break;
            }
            case TypeKind::array: {
                if (count_of(t.element) == 0) break;  // however long it is
                const std::uint64_t stride = stride_of(type_id);
                for (std::uint64_t i = 0; i < k_.scalar(t.length) && error_.empty(); ++i)
                    add_leaves(layout, t.element, at + i * stride, matrix);
                break;
            }
            case TypeKind::structure:
                for (std::uint32_t i = 0; i < t.members.size(); ++i)
                    add_leaves(layout, t.members[i], at + member_offset(type_id, i),
                               matrix_of(type_id, i));
                break;
            default:
                if (error_.empty()) error_ = "a value of a type without a size is loaded or stored";
                break;
        }
    }

    std::uint32_t layout_of(Id type_id, MatrixLayout matrix, std::uint32_t alignment) {
        const auto key = std::tuple{type_id, matrix.stride, matrix.row_major, alignment};
        if (const auto found = layouts_.find(key); found != layouts_.end()) return found->second;
        Layout layout;
        count_of(type_id);  // refuses what is too large
        if (error_.empty()) add_leaves(layout, type_id, 0, matrix);
        layout.alignment = std::max(layout.alignment, alignment);
        layout.contiguous = true;
        for (std::size_t i = 0; i < layout.leaves.size(); ++i) {
            const Leaf& leaf = layout.leaves[i];
            layout.bytes = std::max(layout.bytes, leaf.offset + leaf.bytes);
            layout.contiguous = layout.contiguous && leaf.bytes == 4 && leaf.offset == 4 * i;
        }
        p_.layouts.push_back(std::move(layout));
        return layouts_[key] = static_cast<std::uint32_t>(p_.layouts.size() - 1);
    }

    // --- places ---

    Place new_slots(std::uint64_t n) {
        if (slots_ + n > kMaxSlots) {
            if (error_.empty())
                error_ = fmt::format("the shader needs more than {} registers", kMaxSlots);
            return 0;
        }
        const std::uint64_t first = slots_;
        slots_ += n;
        return static_cast<Place>(first);
    }
    Place constant_place(std::span<const std::uint64_t> scalars) {
        const auto first = static_cast<Place>(p_.constants.size());
        p_.constants.insert(p_.constants.end(), scalars.begin(), scalars.end());
        return ~first;
    }
    static Place at(Place base, std::uint32_t offset) {
        return base >= 0 ? base + static_cast<Place>(offset) : base - static_cast<Place>(offset);
    }
    Place place(Id id) {
        if (const auto found = places_.find(id); found != places_.end()) return found->second;
        if (const Constant* constant = k_.find(id)) {
            if (constant->undefined) {
                const Place slot = new_slots(std::max<std::size_t>(1, constant->scalars.size()));
                p_.undefined_slots.push_back(
                    {kNoPlace, slot, static_cast<std::uint32_t>(constant->scalars.size())});
                return places_[id] = slot;
            }
            return places_[id] = constant_place(constant->scalars);
        }
        if (error_.empty()) {
            const bool variable = std::ranges::any_of(
                m_.variables, [&](const Instruction& in) { return in.result == id; });
            error_ = variable ? fmt::format(
                                    "the variable {} is of a kind that is not supported "
                                    "(arrays of bindings, images and samplers are not)",
                                    m_.name(id))
                              : fmt::format("{} is used as a value", m_.name(id));
        }
        return 0;
    }

    // --- module scope ---

    void workgroup_size(const spirv::EntryPoint& entry) {
        for (const spirv::ExecutionMode& mode : m_.execution_modes) {
            if (mode.entry_point != entry.function) continue;
            if (mode.mode == spv::ExecutionMode::LocalSize) {
                std::copy_n(mode.operands.begin(), 3, p_.workgroup_size.begin());
            } else if (mode.mode == spv::ExecutionMode::LocalSizeId) {
                for (std::size_t i = 0; i < 3; ++i)
                    p_.workgroup_size[i] = static_cast<std::uint32_t>(k_.scalar(mode.operands[i]));
            }
        }
        // The built-in constant outranks both.
        for (const Instruction& in : m_.constants) {
            const auto* built_in = m_.decoration(in.result, Decoration::BuiltIn);
            if (built_in == nullptr ||
                built_in->literals[0] != static_cast<std::uint32_t>(spv::BuiltIn::WorkgroupSize))
                continue;
            const Constant* size = k_.find(in.result);
            for (std::size_t i = 0; size != nullptr && i < 3 && i < size->scalars.size(); ++i)
                p_.workgroup_size[i] = static_cast<std::uint32_t>(size->scalars[i]);
        }
        const std::uint64_t all =
            std::uint64_t{p_.workgroup_size[0]} * p_.workgroup_size[1] * p_.workgroup_size[2];
        constexpr std::uint32_t kMost = 4096;
        const bool wide = std::ranges::max(p_.workgroup_size) > kMost;  // else `all` may wrap
        if (wide || all == 0 || all > kMost)
            error_ = fmt::format("a workgroup of {} x {} x {} invocations", p_.workgroup_size[0],
                                 p_.workgroup_size[1], p_.workgroup_size[2]);
    }

    void global(const Instruction& in) {
        const Type& pointer = type(in.type);
        const Id pointee = pointer.element;
        switch (pointer.storage) {
            case spv::StorageClass::Input: return input(in, pointee);
            case spv::StorageClass::Private: {
                const std::uint32_t n = count_of(pointee);
                const Place slots = new_slots(n);
                const Place from = in.operands.size() > 1 ? place(in.operands[1]) : kNoPlace;
                p_.private_variables.push_back({from, slots, n});
                const std::uint64_t number = static_cast<std::uint64_t>(slots);
                places_[in.result] = constant_place({&number, 1});
                return;
            }
            case spv::StorageClass::Workgroup: {
                const Extent e = extent(pointee);
                const bool block = m_.decoration(pointee, Decoration::Block) != nullptr;
                // Blocks with an explicit layout all begin at the same place.
                const std::uint64_t first =
                    block ? 0
                          : round_up_to(workgroup_bytes_, std::max<std::uint64_t>(e.alignment, 16));
                workgroup_bytes_ = std::max(workgroup_bytes_, first + e.bytes);
                if (workgroup_bytes_ > kMaxWorkgroupBytes && error_.empty())
                    error_ =
                        fmt::format("more than {} bytes of workgroup memory", kMaxWorkgroupBytes);
                const std::uint64_t address = kWorkgroupObject << kObjectShift | first;
                places_[in.result] = constant_place({&address, 1});
                p_.workgroup_variables.push_back({m_.name(in.result), first, e.bytes});
                return;
            }
            case spv::StorageClass::PushConstant: {
                const std::uint64_t address = kPushConstantObject << kObjectShift;
                places_[in.result] = constant_place({&address, 1});
                const std::uint64_t bytes = extent(pointee).bytes;
                if (bytes > kMaxPushConstantBytes && error_.empty())
                    error_ =
                        fmt::format("more than {} bytes of push constants", kMaxPushConstantBytes);
                p_.push_constant_bytes =
                    std::max(p_.push_constant_bytes, static_cast<std::uint32_t>(bytes));
                return;
            }
            case spv::StorageClass::StorageBuffer:
            case spv::StorageClass::Uniform: {
                if (type(pointee).kind != TypeKind::structure) {
                    // Refused only where used: images and samplers do not matter to us either.
                    return;
                }
                const auto* set = m_.decoration(in.result, Decoration::DescriptorSet);
                const auto* binding = m_.decoration(in.result, Decoration::Binding);
                BindingSlot slot;
                slot.set = set == nullptr ? 0 : set->literals[0];
                slot.binding = binding == nullptr ? 0 : binding->literals[0];
                slot.name = m_.names.contains(in.result) && !m_.names.at(in.result).empty()
                                ? m_.names.at(in.result)
                                : m_.name(pointee);
                slot.uniform = pointer.storage == spv::StorageClass::Uniform &&
                               m_.decoration(pointee, Decoration::BufferBlock) == nullptr;
                const auto& members = type(pointee).members;
                bool read_only = !members.empty();
                for (std::uint32_t i = 0; i < members.size(); ++i)
                    read_only = read_only && m_.member_decoration(
                                                 pointee, i, Decoration::NonWritable) != nullptr;
                slot.writable = !slot.uniform && !read_only &&
                                m_.decoration(in.result, Decoration::NonWritable) == nullptr;
                if (!members.empty() && type(members.back()).kind == TypeKind::runtime_array) {
                    slot.fixed_bytes =
                        member_offset(pointee, static_cast<std::uint32_t>(members.size() - 1));
                    slot.array_stride = stride_of(members.back());
                } else {
                    slot.fixed_bytes = extent(pointee).bytes;
                }
                auto found = std::ranges::find_if(p_.bindings, [&](const BindingSlot& other) {
                    return other.set == slot.set && other.binding == slot.binding;
                });
                if (found == p_.bindings.end()) {
                    p_.bindings.push_back(slot);
                    found = p_.bindings.end() - 1;
                } else {
                    found->writable = found->writable || slot.writable;
                }
                const std::uint64_t object =
                    kFirstBinding + static_cast<std::uint64_t>(found - p_.bindings.begin());
                const std::uint64_t address = object << kObjectShift;
                places_[in.result] = constant_place({&address, 1});
                return;
            }
            default: return;  // used where it cannot be: refused there
        }
    }

    void input(const Instruction& in, Id pointee) {
        const auto* built_in = m_.decoration(in.result, Decoration::BuiltIn);
        if (built_in == nullptr) return;
        const std::uint32_t n = count_of(pointee);
        BuiltInVariable variable;
        variable.count = n;
        switch (static_cast<spv::BuiltIn>(built_in->literals[0])) {
            case spv::BuiltIn::NumWorkgroups: variable.what = BuiltIn::num_workgroups; break;
            case spv::BuiltIn::WorkgroupSize: variable.what = BuiltIn::workgroup_size; break;
            case spv::BuiltIn::WorkgroupId: variable.what = BuiltIn::workgroup_id; break;
            case spv::BuiltIn::LocalInvocationId:
                variable.what = BuiltIn::local_invocation_id;
                break;
            case spv::BuiltIn::GlobalInvocationId:
                variable.what = BuiltIn::global_invocation_id;
                break;
            case spv::BuiltIn::LocalInvocationIndex:
                variable.what = BuiltIn::local_invocation_index;
                break;
            case spv::BuiltIn::SubgroupSize: variable.what = BuiltIn::subgroup_size; break;
            case spv::BuiltIn::NumSubgroups: variable.what = BuiltIn::num_subgroups; break;
            case spv::BuiltIn::SubgroupId: variable.what = BuiltIn::subgroup_id; break;
            case spv::BuiltIn::SubgroupLocalInvocationId:
                variable.what = BuiltIn::subgroup_lane;
                break;
            case spv::BuiltIn::SubgroupEqMask: variable.what = BuiltIn::mask_eq; break;
            case spv::BuiltIn::SubgroupGeMask: variable.what = BuiltIn::mask_ge; break;
            case spv::BuiltIn::SubgroupGtMask: variable.what = BuiltIn::mask_gt; break;
            case spv::BuiltIn::SubgroupLeMask: variable.what = BuiltIn::mask_le; break;
            case spv::BuiltIn::SubgroupLtMask: variable.what = BuiltIn::mask_lt; break;
            case spv::BuiltIn::DeviceIndex: variable.what = BuiltIn::zero; break;
            default:
                unsupported(in,
                            fmt::format("of built-in {} is not supported", built_in->literals[0]));
                return;
        }
        variable.slot = new_slots(n);
        const std::uint64_t number = static_cast<std::uint64_t>(variable.slot);
        places_[in.result] = constant_place({&number, 1});
        p_.builtins.push_back(variable);
    }

    // --- functions ---

    void prepare(const spirv::Function& function, CodeFunction& made) {
        made.name = m_.name(function.id);
        if (const auto open = made.name.find('('); open != std::string::npos)
            made.name.resize(open);
        for (const Instruction& parameter : function.parameters) {
            types_[parameter.result] = parameter.type;
            const std::uint32_t n = count_of(parameter.type);
            const Place slots = new_slots(n);
            places_[parameter.result] = slots;
            made.parameters.push_back(slots);
            made.parameter_slots.push_back(n);
        }
        for (const spirv::Block& block : function.blocks) {
            block_numbers_[block.label] = static_cast<std::uint32_t>(p_.blocks.size());
            p_.blocks.emplace_back();
            for (const Instruction& in : block.body) {
                if (in.result == 0 || in.type == 0) continue;
                types_[in.result] = in.type;
                if (type(in.type).kind == TypeKind::none || type(in.type).kind == TypeKind::opaque)
                    continue;
                if (in.op == Op::OpVariable) {
                    const std::uint32_t n = count_of(type(in.type).element);
                    const Place slots = new_slots(n);
                    const std::uint64_t number = static_cast<std::uint64_t>(slots);
                    places_[in.result] = constant_place({&number, 1});
                    made.variables.push_back(
                        {in.operands.size() > 1 ? place(in.operands[1]) : kNoPlace, slots, n});
                    continue;
                }
                if (is_alias(in)) continue;
                places_[in.result] = new_slots(count_of(in.type));
            }
        }
        // Values that are parts of other values: an operand may stand in a later block.
        for (const spirv::Block& block : function.blocks) {
            for (const Instruction& in : block.body)
                if (is_alias(in)) aliases_[in.result] = &in;
        }
        for (const spirv::Block& block : function.blocks) {
            for (const Instruction& in : block.body)
                if (is_alias(in)) alias(in);
        }
    }

    // A copy or an extracted part lies where the whole lies, and takes no code.
    static bool is_alias(const Instruction& in) {
        return in.op == Op::OpCompositeExtract || in.op == Op::OpCopyObject ||
               in.op == Op::OpCopyLogical || in.op == Op::OpExpectKHR;
    }
    Place alias(const Instruction& in) {
        if (const auto found = places_.find(in.result); found != places_.end())
            return found->second;
        const Id source = in.operands[0];
        if (!places_.contains(source)) {
            if (const auto other = aliases_.find(source); other != aliases_.end())
                alias(*other->second);
        }
        std::uint32_t offset = 0;
        if (in.op == Op::OpCompositeExtract) {
            Id t = type_of(source);
            for (const std::uint32_t index : in.operands.subspan(1)) offset += step_into(t, index);
        }
        return places_[in.result] = at(place(source), offset);
    }

    // Slots before member `index`; `t` becomes the member's type.
    std::uint32_t step_into(Id& t, std::uint32_t index) {
        const Type& composite = type(t);
        if (composite.kind == TypeKind::structure) {
            std::uint32_t before = 0;
            for (std::uint32_t i = 0; i < index && i < composite.members.size(); ++i)
                before += count_of(composite.members[i]);
            t = index < composite.members.size() ? composite.members[index]
                                                 : composite.members.back();
            return before;
        }
        t = composite.element;
        return index * count_of(t);
    }

    std::uint32_t file_number(Id file) {
        const auto found = files_.find(file);
        if (found != files_.end()) return found->second;
        const auto named = m_.strings.find(file);
        if (named == m_.strings.end()) return 0;
        p_.files.push_back(named->second);
        return files_[file] = static_cast<std::uint32_t>(p_.files.size() - 1);
    }

    Code& emit(const Instruction& in, Handler run, Flow flow) {
        Code code;
        code.run = run;
        code.op = in.op;
        code.flow = flow;
        if (in.result != 0 && in.type != 0 && places_.contains(in.result)) {
            code.result = places_[in.result];
            code.count = count_of(in.type);
        }
        p_.code.push_back(code);
        p_.lines.push_back({file_number(in.line.file), in.line.line, current_function_});
        return p_.code.back();
    }
    void operand(Code& code, std::size_t i, Id id) {
        code.operand[i] = place(id);
        code.size[i] = count_of(type_of(id));
    }

    std::uint32_t edge(Id from, Id to) {
        Edge made;
        made.block = block_numbers_.at(to);
        const spirv::Block& target = *blocks_.at(to);
        for (const Instruction& in : target.body) {
            if (in.op != Op::OpPhi) break;
            for (std::size_t i = 0; i + 1 < in.operands.size(); i += 2) {
                if (in.operands[i + 1] != from) continue;
                made.phis.push_back({place(in.operands[i]), place(in.result), count_of(in.type)});
            }
        }
        p_.edges.push_back(std::move(made));
        return static_cast<std::uint32_t>(p_.edges.size() - 1);
    }

    void function(const spirv::Function& function) {
        current_function_ = function_numbers_.at(function.id);
        if (function.blocks.empty()) {
            error_ = fmt::format("function {} has no body", m_.name(function.id));
            return;
        }
        for (const spirv::Block& block : function.blocks) blocks_[block.label] = &block;
        p_.functions[current_function_].entry = block_numbers_.at(function.blocks[0].label);
        for (const spirv::Block& block : function.blocks) {
            CodeBlock& made = p_.blocks[block_numbers_.at(block.label)];
            made.first = static_cast<std::uint32_t>(p_.code.size());
            made.function = current_function_;
            made.has_merge = block.merge != 0;
            made.is_loop = block.continue_target != 0;
            if (block.merge != 0) made.merge = block_numbers_.at(block.merge);
            if (block.continue_target != 0)
                made.continue_target = block_numbers_.at(block.continue_target);
            for (const Instruction& in : block.body) {
                instruction(block, in);
                if (!error_.empty()) return;
            }
        }
    }

    void instruction(const spirv::Block& block, const Instruction& in) {
        const auto ops = in.operands;
        switch (in.op) {
            case Op::OpVariable:
            case Op::OpPhi:
            case Op::OpCompositeExtract:
            case Op::OpCopyObject:
            case Op::OpCopyLogical:
            case Op::OpExpectKHR:
            case Op::OpAssumeTrueKHR: return;
            case Op::OpUndef: emit(in, &run_undefined, Flow::self); return;
            case Op::OpBranch: {
                const std::uint32_t to = edge(block.label, ops[0]);
                Code& code = emit(in, nullptr, Flow::self);
                code.kind = CodeKind::branch;
                code.extra = to;
                return;
            }
            case Op::OpBranchConditional: {
                const std::uint32_t yes = edge(block.label, ops[1]);
                const std::uint32_t no = edge(block.label, ops[2]);
                Code& code = emit(in, nullptr, Flow::self);
                code.kind = CodeKind::branch_conditional;
                operand(code, 0, ops[0]);
                code.extra = yes;
                code.aux = no;
                return;
            }
            case Op::OpSwitch: {
                SwitchTable table;
                table.fallback = edge(block.label, ops[1]);
                const std::uint32_t width = width_of(type_of(ops[0]));
                const std::size_t words = width > 32 ? 2 : 1;
                for (std::size_t i = 2; i + words < ops.size(); i += words + 1) {
                    std::uint64_t value = ops[i];
                    if (words == 2) value |= std::uint64_t{ops[i + 1]} << 32;
                    if (width < 32) value &= (1u << width) - 1;
                    table.cases[value] = edge(block.label, ops[i + words]);
                }
                p_.switches.push_back(std::move(table));
                Code& code = emit(in, nullptr, Flow::self);
                code.kind = CodeKind::branch_switch;
                operand(code, 0, ops[0]);
                code.extra = static_cast<std::uint32_t>(p_.switches.size() - 1);
                return;
            }
            case Op::OpReturn:
            case Op::OpReturnValue: {
                Code& code = emit(in, nullptr, Flow::self);
                code.kind = CodeKind::return_;
                if (in.op == Op::OpReturnValue) operand(code, 0, ops[0]);
                return;
            }
            case Op::OpUnreachable:
                emit(in, nullptr, Flow::self).kind = CodeKind::unreachable;
                return;
            case Op::OpFunctionCall: {
                std::vector<Move> moves;
                const CodeFunction& callee = p_.functions[function_numbers_.at(ops[0])];
                for (std::size_t i = 0; i < callee.parameters.size(); ++i)
                    moves.push_back(
                        {place(ops[i + 1]), callee.parameters[i], callee.parameter_slots[i]});
                p_.move_lists.push_back(std::move(moves));
                Code& code = emit(in, nullptr, Flow::self);
                code.kind = CodeKind::call;
                code.extra = function_numbers_.at(ops[0]);
                code.aux = static_cast<std::uint32_t>(p_.move_lists.size() - 1);
                return;
            }
            case Op::OpLoad:
                if (type(in.type).kind == TypeKind::opaque)
                    return unsupported(in, "of what is no plain value is not supported");
                load(in, ops[0], place(in.result), in.type, ops.subspan(1));
                return;
            case Op::OpStore:
                store(in, ops[0], place(ops[1]), type_of(ops[1]), ops.subspan(2));
                return;
            case Op::OpCopyMemory: {
                const Id pointee = type(type_of(ops[1])).element;
                const Place between = new_slots(count_of(pointee));
                load(in, ops[1], between, pointee, ops.subspan(2));
                store(in, ops[0], between, pointee, ops.subspan(2));
                return;
            }
            case Op::OpAccessChain:
            case Op::OpInBoundsAccessChain: chain(in, false); return;
            case Op::OpPtrAccessChain:
            case Op::OpInBoundsPtrAccessChain: chain(in, true); return;
            case Op::OpArrayLength: {
                const Id structure = type(type_of(ops[0])).element;
                const auto offset = member_offset(structure, ops[1]);
                const auto stride = stride_of(type(structure).members[ops[1]]);
                Code& code = emit(in, &run_array_length, Flow::clean);
                operand(code, 0, ops[0]);
                code.extra = static_cast<std::uint32_t>(offset);
                code.aux = static_cast<std::uint32_t>(stride);
                return;
            }
            case Op::OpMemoryBarrier: {
                Code& code = emit(in, &run_memory_barrier, Flow::self);
                code.aux = static_cast<std::uint32_t>(k_.scalar(ops[0]));
                code.extra = static_cast<std::uint32_t>(k_.scalar(ops[1]));
                return;
            }
            case Op::OpControlBarrier: {
                const std::uint64_t scope = k_.scalar(ops[0]);
                Code& code = emit(in, &run_subgroup_barrier, Flow::self);
                code.aux = static_cast<std::uint32_t>(k_.scalar(ops[1]));
                code.extra = static_cast<std::uint32_t>(k_.scalar(ops[2]));
                if (scope == static_cast<std::uint64_t>(spv::Scope::Workgroup)) {
                    code.kind = CodeKind::control_barrier;
                } else if (scope == static_cast<std::uint64_t>(spv::Scope::Subgroup)) {
                    p_.uses_subgroup_operations = true;
                } else {
                    unsupported(in, "of this scope is not supported");
                }
                return;
            }
            case Op::OpCompositeConstruct: {
                std::vector<Place> list;
                for (const Id part : ops) {
                    const Place first = place(part);
                    for (std::uint32_t i = 0; i < count_of(type_of(part)); ++i)
                        list.push_back(at(first, i));
                }
                gather(in, std::move(list));
                return;
            }
            case Op::OpCompositeInsert: {
                std::vector<Place> list = parts(ops[1]);
                Id t = type_of(ops[1]);
                std::uint32_t offset = 0;
                for (const std::uint32_t index : ops.subspan(2)) offset += step_into(t, index);
                const Place from = place(ops[0]);
                for (std::uint32_t i = 0; i < count_of(t) && offset + i < list.size(); ++i)
                    list[offset + i] = at(from, i);
                gather(in, std::move(list));
                return;
            }
            case Op::OpVectorShuffle: {
                std::vector<Place> both = parts(ops[0]);
                const std::vector<Place> second = parts(ops[1]);
                both.insert(both.end(), second.begin(), second.end());
                std::vector<Place> list;
                for (const std::uint32_t index : ops.subspan(2))
                    list.push_back(index < both.size() ? both[index] : zero());
                gather(in, std::move(list));
                return;
            }
            case Op::OpTranspose: {
                const std::vector<Place> from = parts(ops[0]);
                const std::uint32_t rows = type(in.type).count;  // of the operand
                const std::uint32_t columns = static_cast<std::uint32_t>(from.size()) / rows;
                std::vector<Place> list;
                for (std::uint32_t row = 0; row < rows; ++row)
                    for (std::uint32_t column = 0; column < columns; ++column)
                        list.push_back(from[column * rows + row]);
                gather(in, std::move(list));
                return;
            }
            case Op::OpVectorExtractDynamic: {
                Code& code = emit(in, &run_extract_dynamic, Flow::all);
                operand(code, 0, ops[0]);
                operand(code, 1, ops[1]);
                return;
            }
            case Op::OpVectorInsertDynamic: {
                Code& code = emit(in, &run_insert_dynamic, Flow::all);
                operand(code, 0, ops[0]);
                operand(code, 1, ops[1]);
                operand(code, 2, ops[2]);
                return;
            }
            case Op::OpSelect: {
                Code& code = emit(in, &run_select, Flow::self);
                for (std::size_t i = 0; i < 3; ++i) operand(code, i, ops[i]);
                return;
            }
            case Op::OpConvertFToU:
            case Op::OpConvertFToS:
            case Op::OpConvertSToF:
            case Op::OpConvertUToF:
            case Op::OpUConvert:
            case Op::OpSConvert:
            case Op::OpFConvert:
            case Op::OpConvertPtrToU:
            case Op::OpConvertUToPtr: {
                const bool pointer = in.op == Op::OpConvertPtrToU || in.op == Op::OpConvertUToPtr;
                Handler handler = conversion_handler(pointer ? Op::OpUConvert : in.op,
                                                     width_of(type_of(ops[0])), width_of(in.type));
                if (handler == nullptr) return unsupported(in);
                operand(emit(in, handler, Flow::each), 0, ops[0]);
                return;
            }
            case Op::OpBitcast: {
                const std::uint32_t from = width_of(type_of(ops[0]));
                const std::uint32_t to = width_of(in.type);
                Code& code = emit(in, &run_copy, from == to ? Flow::each : Flow::all);
                operand(code, 0, ops[0]);
                code.extra = from;
                code.aux = to;
                return;
            }
            case Op::OpExtInst: extended(in); return;
            default: break;
        }
        if (group(in)) return;
        if (atomic(in)) return;
        if (ops.empty() || ops.size() > 4 || in.result == 0) return unsupported(in);
        // OpAny and OpAll, dot products: one result from all parts.
        const std::uint32_t width = width_of(type_of(ops[0]));
        const Handler handler = arithmetic_handler(in.op, width);
        if (handler == nullptr) return unsupported(in);
        Flow flow = Flow::each;
        switch (in.op) {
            case Op::OpAny:
            case Op::OpAll:
            case Op::OpDot:
            case Op::OpMatrixTimesVector:
            case Op::OpVectorTimesMatrix:
            case Op::OpMatrixTimesMatrix:
            case Op::OpOuterProduct:
            case Op::OpIAddCarry:
            case Op::OpISubBorrow:
            case Op::OpUMulExtended:
            case Op::OpSMulExtended: flow = Flow::all; break;
            default: break;
        }
        Code& code = emit(in, handler, flow);
        code.width = static_cast<std::uint8_t>(width);
        for (std::size_t i = 0; i < ops.size(); ++i) operand(code, i, ops[i]);
        if (in.op == Op::OpMatrixTimesVector || in.op == Op::OpMatrixTimesMatrix)
            code.aux = type(type(type_of(ops[0])).element).count;
    }

    std::vector<Place> parts(Id id) {
        std::vector<Place> list;
        const Place first = place(id);
        for (std::uint32_t i = 0; i < count_of(type_of(id)); ++i) list.push_back(at(first, i));
        return list;
    }
    Place zero() {
        if (zero_ == kNoPlace) {
            const std::uint64_t none = 0;
            zero_ = constant_place({&none, 1});
        }
        return zero_;
    }
    void gather(const Instruction& in, std::vector<Place> list) {
        p_.lists.push_back(std::move(list));
        emit(in, &run_gather, Flow::self).extra = static_cast<std::uint32_t>(p_.lists.size() - 1);
    }

    std::uint32_t aligned_operand(std::span<const std::uint32_t> memory) const {
        constexpr std::uint32_t kAligned = 2;
        return memory.size() >= 2 && (memory[0] & kAligned) != 0 ? memory[1] : 1;
    }
    MatrixLayout matrix_at(Id pointer) const {
        const auto found = pointer_matrices_.find(pointer);
        return found == pointer_matrices_.end() ? MatrixLayout{} : found->second;
    }

    // Of a value where a load or store finds it; registers have none.
    std::uint32_t layout_in(Space space, Id pointer, Id value_type,
                            std::span<const std::uint32_t> memory) {
        if (space == Space::registers) return 0;
        return layout_of(value_type, matrix_at(pointer),
                         space == Space::physical ? aligned_operand(memory) : 1);
    }

    void load(const Instruction& in, Id pointer, Place result, Id value_type,
              std::span<const std::uint32_t> memory) {
        const Space space = space_of(type(type_of(pointer)).storage, in);
        const std::uint32_t layout = layout_in(space, pointer, value_type, memory);
        Code& code = emit(in, space == Space::registers ? &run_load_registers : &run_load_memory,
                          Flow::self);
        code.op = Op::OpLoad;
        operand(code, 0, pointer);
        code.result = result;
        code.count = count_of(value_type);
        code.extra = layout;
        code.aux = static_cast<std::uint32_t>(space);
    }

    void store(const Instruction& in, Id pointer, Place value, Id value_type,
               std::span<const std::uint32_t> memory) {
        const Space space = space_of(type(type_of(pointer)).storage, in);
        const std::uint32_t layout = layout_in(space, pointer, value_type, memory);
        Code& code = emit(in, space == Space::registers ? &run_store_registers : &run_store_memory,
                          Flow::self);
        code.op = Op::OpStore;
        code.result = kNoPlace;
        operand(code, 0, pointer);
        code.operand[1] = value;
        code.size[1] = count_of(value_type);
        code.extra = layout;
        code.aux = static_cast<std::uint32_t>(space);
    }

    void chain(const Instruction& in, bool by_element) {
        const Id base = in.operands[0];
        const Type& pointer = type(type_of(base));
        if (pointer.kind != TypeKind::pointer) return unsupported(in);
        const Space space = space_of(pointer.storage, in);
        const bool slots = space == Space::registers;
        Chain made;
        MatrixLayout matrix = matrix_at(base);
        Id t = pointer.element;
        auto indices = in.operands.subspan(1);
        if (by_element) {
            std::uint64_t stride = slots ? count_of(t) : extent(t, matrix).bytes;
            if (const auto* decorated = m_.decoration(type_of(base), Decoration::ArrayStride))
                stride = decorated->literals[0];
            step(made, indices[0], stride, 0);
            indices = indices.subspan(1);
        }
        for (const Id index : indices) {
            const Type& composite = type(t);
            switch (composite.kind) {
                case TypeKind::structure: {
                    const auto member = static_cast<std::uint32_t>(k_.scalar(index));
                    if (member >= composite.members.size())
                        return unsupported(in, "with a bad member index");
                    if (slots) {
                        for (std::uint32_t i = 0; i < member; ++i)
                            made.offset += count_of(composite.members[i]);
                    } else {
                        made.offset += member_offset(t, member);
                        matrix = matrix_of(t, member);
                    }
                    t = composite.members[member];
                    break;
                }
                case TypeKind::array:
                    step(made, index, slots ? count_of(composite.element) : stride_of(t),
                         k_.scalar(composite.length));
                    t = composite.element;
                    break;
                case TypeKind::runtime_array:
                    step(made, index, stride_of(t), 0);
                    t = composite.element;
                    break;
                case TypeKind::matrix: {
                    const std::uint64_t column = extent(composite.element).bytes;
                    const std::uint64_t scalar = extent(type(composite.element).element).bytes;
                    step(made, index,
                         slots                ? count_of(composite.element)
                         : matrix.stride == 0 ? column
                         : matrix.row_major   ? scalar
                                              : matrix.stride,
                         composite.count);
                    t = composite.element;
                    break;
                }
                case TypeKind::vector: {
                    const bool spread = matrix.row_major && matrix.stride != 0;
                    step(made, index,
                         slots    ? 1
                         : spread ? matrix.stride
                                  : extent(composite.element).bytes,
                         composite.count);
                    t = composite.element;
                    break;
                }
                default: return unsupported(in, "goes into a type that has no parts");
            }
        }
        if (matrix.stride != 0) pointer_matrices_[in.result] = matrix;
        p_.chains.push_back(std::move(made));
        Code& code = emit(in, &run_chain, Flow::self);
        operand(code, 0, base);
        code.extra = static_cast<std::uint32_t>(p_.chains.size() - 1);
        code.aux = static_cast<std::uint32_t>(space);
    }

    void step(Chain& chain, Id index, std::uint64_t stride, std::uint64_t length) {
        const Type& t = type(type_of(index));
        if (const Constant* constant = k_.find(index);
            constant != nullptr && !constant->undefined) {
            const std::uint64_t value = constant->scalars[0];
            if (length == 0 ? value < (1u << 30) : value < length) {
                // Where this is not nonsense anyway it is far below: no sum of them wraps.
                chain.offset = std::min(chain.offset + value * stride, kOffsetMask + 1);
                return;
            }
        }
        chain.steps.push_back(
            {place(index), static_cast<std::uint8_t>(t.width), t.is_signed, stride, length});
    }

    void extended(const Instruction& in) {
        const auto ops = in.operands;
        const std::string& set = m_.imports.at(ops[0]);
        if (set != "GLSL.std.450")
            return unsupported(in, fmt::format("of {} is not supported", set));
        const auto arguments = ops.subspan(2);
        if (arguments.empty() || arguments.size() > 4) return unsupported(in);
        if (ops[1] == GLSLstd450Modf || ops[1] == GLSLstd450Frexp) {
            // The forms with a pointer are those with a struct, and a store.
            const bool is_modf = ops[1] == GLSLstd450Modf;
            const std::uint32_t parts = count_of(in.type);
            const Id pointee = type(type_of(arguments[1])).element;
            const Place both = new_slots(2 * std::uint64_t{parts});
            Code& code = emit(in,
                              glsl_handler(is_modf ? GLSLstd450ModfStruct : GLSLstd450FrexpStruct,
                                           width_of(in.type)),
                              Flow::all);
            operand(code, 0, arguments[0]);
            code.result = both;
            code.count = 2 * parts;
            code.extra = is_modf ? GLSLstd450ModfStruct : GLSLstd450FrexpStruct;
            code.aux = width_of(pointee);
            std::vector<Place> list;
            for (std::uint32_t i = 0; i < parts; ++i) list.push_back(at(both, i));
            gather(in, std::move(list));
            store(in, arguments[1], at(both, parts), pointee, {});
            return;
        }
        const Handler handler = glsl_handler(ops[1], width_of(type_of(arguments[0])));
        if (handler == nullptr)
            return unsupported(in, fmt::format("{} of GLSL.std.450 is not supported", ops[1]));
        Flow flow = Flow::each;
        const std::uint32_t n = count_of(type_of(arguments[0]));
        if (n != count_of(in.type) || ops[1] == GLSLstd450Cross || ops[1] == GLSLstd450Normalize ||
            ops[1] == GLSLstd450Reflect || ops[1] == GLSLstd450Refract ||
            ops[1] == GLSLstd450FaceForward || ops[1] == GLSLstd450MatrixInverse)
            flow = Flow::all;
        Code& code = emit(in, handler, flow);
        for (std::size_t i = 0; i < arguments.size(); ++i) operand(code, i, arguments[i]);
        code.extra = ops[1];
        code.width = static_cast<std::uint8_t>(width_of(type_of(arguments[0])));
        if (ops[1] == GLSLstd450Ldexp) code.aux = width_of(type_of(arguments[1]));
        if (ops[1] == GLSLstd450FrexpStruct) code.aux = width_of(type(in.type).members[1]);
    }

    bool group(const Instruction& in) {
        const auto ops = in.operands;
        std::size_t first = 1;  // after the scope
        bool has_operation = false;
        switch (in.op) {
            case Op::OpGroupNonUniformElect:
            case Op::OpGroupNonUniformAll:
            case Op::OpGroupNonUniformAny:
            case Op::OpGroupNonUniformAllEqual:
            case Op::OpGroupNonUniformBroadcast:
            case Op::OpGroupNonUniformBroadcastFirst:
            case Op::OpGroupNonUniformBallot:
            case Op::OpGroupNonUniformInverseBallot:
            case Op::OpGroupNonUniformBallotBitExtract:
            case Op::OpGroupNonUniformBallotFindLSB:
            case Op::OpGroupNonUniformBallotFindMSB:
            case Op::OpGroupNonUniformShuffle:
            case Op::OpGroupNonUniformShuffleXor:
            case Op::OpGroupNonUniformShuffleUp:
            case Op::OpGroupNonUniformShuffleDown:
            case Op::OpGroupNonUniformQuadBroadcast:
            case Op::OpGroupNonUniformQuadSwap:
            case Op::OpGroupNonUniformRotateKHR: break;
            case Op::OpGroupNonUniformBallotBitCount:
            case Op::OpGroupNonUniformIAdd:
            case Op::OpGroupNonUniformFAdd:
            case Op::OpGroupNonUniformIMul:
            case Op::OpGroupNonUniformFMul:
            case Op::OpGroupNonUniformSMin:
            case Op::OpGroupNonUniformUMin:
            case Op::OpGroupNonUniformFMin:
            case Op::OpGroupNonUniformSMax:
            case Op::OpGroupNonUniformUMax:
            case Op::OpGroupNonUniformFMax:
            case Op::OpGroupNonUniformBitwiseAnd:
            case Op::OpGroupNonUniformBitwiseOr:
            case Op::OpGroupNonUniformBitwiseXor:
            case Op::OpGroupNonUniformLogicalAnd:
            case Op::OpGroupNonUniformLogicalOr:
            case Op::OpGroupNonUniformLogicalXor: has_operation = true; break;
            case Op::OpGroupNonUniformPartitionNV:
            case Op::OpSubgroupBallotKHR:
            case Op::OpSubgroupFirstInvocationKHR:
            case Op::OpSubgroupAllKHR:
            case Op::OpSubgroupAnyKHR:
            case Op::OpSubgroupAllEqualKHR:
            case Op::OpSubgroupReadInvocationKHR: first = 0; break;
            default: return false;
        }
        if (first == 1 && k_.scalar(ops[0]) != static_cast<std::uint64_t>(spv::Scope::Subgroup)) {
            unsupported(in, "of another scope than the subgroup is not supported");
            return true;
        }
        p_.uses_subgroup_operations = true;
        std::uint32_t operation = 0;
        if (has_operation) {
            operation = ops[1];
            first = 2;
        }
        const auto values = ops.subspan(std::min(first, ops.size()));
        const auto is = [&](spv::GroupOperation which) {
            return has_operation && operation == static_cast<std::uint32_t>(which);
        };
        const bool partitioned = is(spv::GroupOperation::PartitionedReduceNV) ||
                                 is(spv::GroupOperation::PartitionedInclusiveScanNV) ||
                                 is(spv::GroupOperation::PartitionedExclusiveScanNV);
        if ((partitioned && (values.size() < 2 || count_of(type_of(values[1])) != 4)) ||
            (is(spv::GroupOperation::ClusteredReduce) && values.size() < 2)) {
            unsupported(in, "without its clusters is not supported");
            return true;
        }
        Code& code = emit(in, &run_group, Flow::self);
        code.extra = operation;
        for (std::size_t i = 0; i < values.size() && i < 4; ++i) operand(code, i, values[i]);
        if (!values.empty()) code.width = static_cast<std::uint8_t>(width_of(type_of(values[0])));
        code.aux = static_cast<std::uint32_t>(!values.empty() && holds_float(type_of(values[0])));
        return true;
    }

    bool atomic(const Instruction& in) {
        const auto ops = in.operands;
        bool has_value = true;
        switch (in.op) {
            case Op::OpAtomicLoad:
            case Op::OpAtomicIIncrement:
            case Op::OpAtomicIDecrement: has_value = false; break;
            case Op::OpAtomicStore:
            case Op::OpAtomicExchange:
            case Op::OpAtomicCompareExchange:
            case Op::OpAtomicIAdd:
            case Op::OpAtomicISub:
            case Op::OpAtomicSMin:
            case Op::OpAtomicUMin:
            case Op::OpAtomicSMax:
            case Op::OpAtomicUMax:
            case Op::OpAtomicAnd:
            case Op::OpAtomicOr:
            case Op::OpAtomicXor:
            case Op::OpAtomicFAddEXT:
            case Op::OpAtomicFMinEXT:
            case Op::OpAtomicFMaxEXT: break;
            default: return false;
        }
        const Type& pointer = type(type_of(ops[0]));
        const Space space = space_of(pointer.storage, in);
        if (space == Space::registers) {
            unsupported(in, "on this storage class is not supported");
            return true;
        }
        Code& code = emit(in, &run_atomic, Flow::self);
        operand(code, 0, ops[0]);
        code.extra = static_cast<std::uint32_t>(k_.scalar(ops[2]));
        const bool exchange = in.op == Op::OpAtomicCompareExchange;
        if (exchange) {
            code.extra |= static_cast<std::uint32_t>(k_.scalar(ops[3]));
            operand(code, 1, ops[4]);
            operand(code, 2, ops[5]);
        } else if (has_value) {
            operand(code, 1, ops[3]);
        }
        code.width = static_cast<std::uint8_t>(width_of(pointer.element));
        code.aux = static_cast<std::uint32_t>(space) | static_cast<std::uint32_t>(k_.scalar(ops[1]))
                                                           << 8;
        return true;
    }

    const Module& m_;
    const Constants& k_;
    Program p_;
    std::string error_;
    std::uint64_t slots_ = 0;
    std::uint64_t workgroup_bytes_ = 0;
    std::uint32_t current_function_ = 0;
    Place zero_ = kNoPlace;
    std::unordered_map<Id, Place> places_;
    std::unordered_map<Id, Id> types_;
    std::unordered_map<Id, const Instruction*> aliases_;
    std::unordered_map<Id, std::uint32_t> block_numbers_;
    std::unordered_map<Id, const spirv::Block*> blocks_;
    std::unordered_map<Id, std::uint32_t> function_numbers_;
    std::unordered_map<Id, std::uint32_t> files_;
    std::unordered_map<Id, MatrixLayout> pointer_matrices_;
    std::map<std::tuple<Id, std::uint32_t, bool, std::uint32_t>, std::uint32_t> layouts_;
    // Types that share parts would else be measured again and again.
    mutable std::map<std::tuple<Id, std::uint32_t, bool>, Extent> extents_;
};

}  // namespace

Result<Program> make_program(const Module& module, std::string_view entry_point,
                             std::span<const spirv::Specialization> specialization) {
    const auto constants = Constants::evaluate(module, specialization);
    if (!constants) return tl::unexpected(constants.error());
    return Decoder(module, *constants).decode(entry_point);
}

}  // namespace lanewise::simulator::detail
