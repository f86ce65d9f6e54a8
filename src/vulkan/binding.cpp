// Executable::bind: checks buffers and count against the plan, and prepares all that record needs.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "lanewise/vulkan.hpp"
#include "src/core/without_throwing.hpp"
#include "src/vulkan/device_state.hpp"

namespace lanewise::vulkan {

namespace {

// Addresses are read in vectors of 16 bytes.
constexpr std::uint64_t kAddressAlignment = 16;

template <class... Args>
tl::unexpected<Error> refuse(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

// A buffer as one use touches it. `begin` is an offset in `buffer`, or an address (then buffer is
// null, so that ranges compare).
struct Range {
    Role role = Role::input;
    VkBuffer buffer = VK_NULL_HANDLE;
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    bool written = false;
};

bool overlap(const Range& a, const Range& b) {
    return a.buffer == b.buffer && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

const Buffer* given(const Buffers& buffers, Role role) {
    switch (role) {
        case Role::input: return &buffers.input;
        case Role::output: return &buffers.output;
        case Role::scratch: return &buffers.scratch;
        case Role::values: return &buffers.values;
        case Role::values_out: return &buffers.values_out;
        case Role::offsets: return &buffers.offsets;
        case Role::flags: return &buffers.flags;
        case Role::keys: return &buffers.keys;
        case Role::rejected: return &buffers.rejected;
        case Role::count_out: return &buffers.count_out;
        default: return nullptr;
    }
}

constexpr Role kGiven[] = {Role::input,      Role::output,   Role::scratch, Role::values,
                           Role::values_out, Role::offsets,  Role::flags,   Role::keys,
                           Role::rejected,   Role::count_out};

bool is_empty(const Buffer& buffer) {
    return buffer.buffer == VK_NULL_HANDLE && buffer.address == 0 && buffer.bytes == 0;
}

class Binder {
public:
    Binder(const Executable::State& executable, const Buffers& buffers, const Count& count)
        : device_(*executable.device),
          limits_(device_.facts.caps.limits),
          plan_(executable.plan),
          by_address_(plan_.addressing == Addressing::device_address),
          buffers_(buffers),
          count_buffer_(std::get_if<CountBuffer>(&count)),
          // With a count in a buffer, everything is sized for the most that it may say.
          count_(count_buffer_ != nullptr ? plan_.max_count : std::get<std::uint64_t>(count)) {}

    Result<void> check() {
        if (count_ > plan_.max_count) {
            return refuse(ErrorCode::limit_exceeded,
                          "count is {}, the plan's max_count {}: plan for more", count_,
                          plan_.max_count);
        }
        for (const Role role : kGiven) {
            if (auto checked = check_role(role); !checked) return checked;
        }
        if (count_buffer_ != nullptr) {
            if (auto checked = check_count_buffer(); !checked) return checked;
        }
        return check_overlap();
    }

    Result<void> fill(Binding::State& binding, const Executable::State& executable,
                      const BindOptions& options) {
        binding.launch = share_out(plan_.share, count_);
        if (plan_.state_bytes > 0) {
            auto slot = device_.pages.take(plan_.state_bytes);
            if (!slot) return tl::unexpected(slot.error());
            binding.slot = std::move(*slot);
        }
        if (count_buffer_ != nullptr) {
            binding.indirect_buffer = buffers_.scratch.buffer;
            binding.indirect_offset = buffers_.scratch.offset + plan_.indirect_offset;
        }
        for (std::size_t i = 0; i < plan_.passes.size(); ++i) {
            const Pass& pass = plan_.passes[i];
            if (pass.when == When::count_in_buffer && count_buffer_ == nullptr) continue;
            binding.pass_names.push_back(pass.name);
            binding.passes.push_back(bound_pass(pass, executable.pipelines[i], binding));
        }
        if (by_address_) return {};
        for (BoundPass& pass : binding.passes) {
            for (std::size_t i = 0; i < pass.buffers.size(); ++i) {
                pass.writes.push_back({
                    .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                    .dstBinding = static_cast<std::uint32_t>(i),
                    .descriptorCount = 1,
                    .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                    .pBufferInfo = &pass.buffers[i],
                });
            }
        }
        if (device_.facts.caps.push_descriptors) return {};
        return allocate_sets(binding, options);
    }

private:
    Result<void> check_role(Role role) {
        const Argument* argument = plan_.argument(role);
        const Buffer& buffer = *given(buffers_, role);
        const char* name = to_text(role);
        if (argument == nullptr) {
            if (is_empty(buffer)) return {};
            return refuse(ErrorCode::bad_argument,
                          "{}: the plan has no such buffer: leave it empty", name);
        }

        std::uint64_t needed = bytes_needed(role);
        // Nothing is touched of a buffer for no items: there need not be one, and none is bound.
        if (needed == 0) return {};
        if (buffer.bytes < needed) {
            return refuse(ErrorCode::bad_argument, "{}: {} bytes are given, {} needed for {} items",
                          name, buffer.bytes, needed, count_);
        }
        needed = bound_bytes(role);

        Range range{.role = role, .bytes = needed, .written = argument->access != Access::read};
        if (by_address_) {
            if (buffer.address == 0) {
                return refuse(ErrorCode::bad_argument,
                              "{}: address is 0, and the plan takes device addresses", name);
            }
            const std::uint64_t alignment =
                std::max<std::uint64_t>(kAddressAlignment, argument->alignment);
            if (buffer.address % alignment != 0) {
                return refuse(ErrorCode::bad_argument, "{}: address {:#x} is no multiple of {}",
                              name, buffer.address, alignment);
            }
            range.begin = buffer.address;
            if (role == Role::scratch && count_buffer_ != nullptr) {
                if (auto checked = check_indirect(buffer); !checked) return checked;
            }
        } else {
            if (buffer.buffer == VK_NULL_HANDLE) {
                return refuse(ErrorCode::bad_argument,
                              "{}: buffer is null, and the plan takes descriptors", name);
            }
            const std::uint64_t alignment =
                std::max<std::uint64_t>({limits_.storage_offset_alignment, argument->alignment, 1});
            if (buffer.offset % alignment != 0) {
                return refuse(ErrorCode::bad_argument, "{}: offset {} is no multiple of {}", name,
                              buffer.offset, alignment);
            }
            const std::uint64_t most =
                lanewise::detail::most_bound(plan_, role, needed, count_buffer_ != nullptr);
            if (most > limits_.max_storage_range) {
                return refuse(ErrorCode::limit_exceeded,
                              "{}: {} bytes are needed, max_storage_range is {}: plan with device "
                              "addresses, or in parts",
                              name, most, limits_.max_storage_range);
            }
            range.buffer = buffer.buffer;
            range.begin = buffer.offset;
        }
        if (range.begin > UINT64_MAX - range.bytes) {
            return refuse(ErrorCode::bad_argument, "{}: {:#x} plus {} bytes passes 2^64", name,
                          range.begin, range.bytes);
        }
        add(range);
        return {};
    }

    // Indirect dispatches take their arguments from a VkBuffer, addresses or not.
    Result<void> check_indirect(const Buffer& scratch) {
        if (scratch.buffer == VK_NULL_HANDLE) {
            return refuse(ErrorCode::bad_argument,
                          "scratch: buffer is null; a count in a buffer needs it for the indirect "
                          "dispatch, with offset and the address of the same byte");
        }
        if (scratch.offset % 4 != 0) {
            return refuse(ErrorCode::bad_argument, "scratch: offset {} is no multiple of 4",
                          scratch.offset);
        }
        return {};
    }

    Result<void> check_count_buffer() {
        Range range{.role = Role::count, .bytes = count_bytes()};
        if (plan_.argument(Role::scratch) == nullptr) {
            return refuse(ErrorCode::unsupported,
                          "count: the plan does not take it from a buffer: give a number");
        }
        if (by_address_) {
            if (count_buffer_->address == 0) {
                return refuse(ErrorCode::bad_argument,
                              "count: address is 0, and the plan takes device addresses");
            }
            if (count_buffer_->address % count_bytes() != 0) {
                return refuse(ErrorCode::bad_argument, "count: address {:#x} is no multiple of {}",
                              count_buffer_->address, count_bytes());
            }
            range.begin = count_buffer_->address;
        } else {
            if (count_buffer_->buffer == VK_NULL_HANDLE) {
                return refuse(ErrorCode::bad_argument,
                              "count: buffer is null, and the plan takes descriptors");
            }
            const std::uint32_t alignment = std::max(limits_.storage_offset_alignment, 4u);
            if (count_buffer_->offset % alignment != 0) {
                return refuse(ErrorCode::bad_argument, "count: offset {} is no multiple of {}",
                              count_buffer_->offset, alignment);
            }
            range.buffer = count_buffer_->buffer;
            range.begin = count_buffer_->offset;
        }
        add(range);
        return {};
    }

    Result<void> check_overlap() const {
        for (std::size_t i = 0; i < range_count_; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                const Range& a = ranges_[j];
                const Range& b = ranges_[i];
                if (!(a.written || b.written) || !overlap(a, b)) continue;
                if (plan_.in_place && a.role == Role::input && b.role == Role::output &&
                    a.begin == b.begin) {
                    continue;
                }
                return refuse(ErrorCode::bad_argument,
                              "{} ({:#x}, {} bytes) and {} ({:#x}, {} bytes) overlap: give each a "
                              "range of its own",
                              to_text(a.role), a.begin, a.bytes, to_text(b.role), b.begin, b.bytes);
            }
        }
        return {};
    }

    void add(const Range& range) { ranges_[range_count_++] = range; }

    std::uint64_t bytes_needed(Role role) const {
        return count_buffer_ != nullptr ? plan_.argument(role)->bytes
                                        : lanewise::bytes_needed(plan_, role, count_);
    }
    // What is bound of a buffer that has what is needed.
    std::uint64_t bound_bytes(Role role) const {
        return lanewise::detail::used_bytes(plan_, role, bytes_needed(role),
                                            given(buffers_, role)->bytes);
    }
    std::uint64_t count_bytes() const { return by_address_ ? 8 : 4; }

    VkDescriptorBufferInfo descriptor(const PassBuffer& part, const Binding::State& binding) const {
        const Role role = part.role;
        if (role == Role::state)
            return {binding.slot.buffer(), binding.slot.offset(), plan_.state_bytes};
        if (role == Role::count)
            return {count_buffer_->buffer, count_buffer_->offset, count_bytes()};
        const Buffer* buffer = given(buffers_, role);
        if (part.bytes != 0) return {buffer->buffer, buffer->offset + part.offset, part.bytes};
        std::uint64_t bytes = bound_bytes(role);
        // A descriptor must show something: where nothing is needed of a buffer, another, which is
        // not touched through it. All others may be empty with the input, but scratch has bytes,
        // and before it what no pass that writes the output reads.
        for (const Role other : {Role::output, Role::count_out, Role::scratch}) {
            if (bytes != 0) break;
            if (plan_.argument(other) == nullptr) continue;
            buffer = given(buffers_, other);
            bytes = std::min(bytes_needed(other), limits_.max_storage_range);
        }
        return {buffer->buffer, buffer->offset, bytes};
    }

    VkDeviceAddress address(const PassBuffer& part, const Binding::State& binding) const {
        if (part.role == Role::state) return binding.slot.address();
        if (part.role == Role::count) return count_buffer_->address;
        return given(buffers_, part.role)->address + part.offset;
    }

    BoundPass bound_pass(const Pass& pass, const detail::PassPipeline& pipeline,
                         const Binding::State& binding) const {
        BoundPass bound;
        bound.pass = &pass;
        bound.pipeline = &pipeline;
        bound.indirect = pass.groups == Groups::share && count_buffer_ != nullptr;
        bound.dispatches = pass.groups == Groups::share ? binding.launch.dispatches : 1;

        lanewise::detail::Parameters parameters = lanewise::detail::parameters_of(binding.launch);
        if (count_buffer_ != nullptr) parameters.flags = lanewise::detail::kCountInBuffer;
        if (plan_.argument(Role::offsets) != nullptr)
            parameters.offset_words = static_cast<std::uint32_t>(bound_bytes(Role::offsets) / 4);
        bound.push_constants.resize(detail::push_constant_bytes(pass, plan_.addressing));
        std::memcpy(bound.push_constants.data(), &parameters, sizeof parameters);
        for (std::size_t i = 0; i < pass.bindings.size(); ++i) {
            if (by_address_) {
                const VkDeviceAddress value = address(pass.bindings[i], binding);
                std::memcpy(bound.push_constants.data() + sizeof parameters + i * sizeof value,
                            &value, sizeof value);
            } else {
                bound.buffers.push_back(descriptor(pass.bindings[i], binding));
            }
        }
        return bound;
    }

    Result<void> allocate_sets(Binding::State& binding, const BindOptions& options) const {
        const detail::DeviceContext& context = device_.context;
        const detail::Functions& vk = context.vk;
        std::vector<VkDescriptorSetLayout> layouts;
        std::uint32_t descriptors = 0;
        for (const BoundPass& pass : binding.passes) {
            layouts.push_back(pass.pipeline->set_layout.get());
            descriptors += static_cast<std::uint32_t>(pass.buffers.size());
        }
        const auto set_count = static_cast<std::uint32_t>(layouts.size());

        VkDescriptorPool pool = options.descriptor_pool;
        if (pool == VK_NULL_HANDLE) {
            const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptors};
            const VkDescriptorPoolCreateInfo info{
                .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                .maxSets = set_count,
                .poolSizeCount = 1,
                .pPoolSizes = &size,
            };
            auto made = detail::make_owned<detail::OwnedDescriptorPool>(
                context, vk.CreateDescriptorPool, info, "making a descriptor pool");
            if (!made) return tl::unexpected(made.error());
            binding.pool = std::move(*made);
            pool = binding.pool.get();
        }

        std::vector<VkDescriptorSet> sets(set_count);
        const VkDescriptorSetAllocateInfo info{
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
            .descriptorPool = pool,
            .descriptorSetCount = set_count,
            .pSetLayouts = layouts.data(),
        };
        const VkResult result = vk.AllocateDescriptorSets(context.device, &info, sets.data());
        if (result != VK_SUCCESS) {
            return context.failed(result,
                                  fmt::format("allocating {} descriptor sets of {} storage buffers "
                                              "in all",
                                              set_count, descriptors));
        }
        for (std::size_t i = 0; i < binding.passes.size(); ++i) {
            BoundPass& pass = binding.passes[i];
            pass.set = sets[i];
            for (VkWriteDescriptorSet& write : pass.writes) write.dstSet = pass.set;
            vk.UpdateDescriptorSets(context.device, static_cast<std::uint32_t>(pass.writes.size()),
                                    pass.writes.data(), 0, nullptr);
        }
        return {};
    }

    Device::State& device_;
    const Limits& limits_;
    const Plan& plan_;
    bool by_address_;
    const Buffers& buffers_;
    const CountBuffer* count_buffer_;
    std::uint64_t count_;
    std::array<Range, std::size(kGiven) + 1> ranges_;  // and the count
    std::size_t range_count_ = 0;
};

}  // namespace

Result<Binding> Executable::bind(const Buffers& buffers, Count count,
                                 const BindOptions& options) const {
    return lanewise::detail::without_throwing("binding buffers", [&]() -> Result<Binding> {
        if (auto alive = state_->device->context.alive(); !alive)
            return tl::unexpected(alive.error());
        Binder binder(*state_, buffers, count);
        if (auto checked = binder.check(); !checked) return tl::unexpected(checked.error());
        auto binding = std::make_shared<Binding::State>();
        binding->executable = state_;
        if (auto filled = binder.fill(*binding, *state_, options); !filled)
            return tl::unexpected(filled.error());
        return Binding(std::move(binding));
    });
}

}  // namespace lanewise::vulkan
