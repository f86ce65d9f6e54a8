// Executable::bind: checks buffers and count against the plan, and prepares all that record needs.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "lanewise/webgpu.hpp"
#include "src/core/arithmetic.hpp"
#include "src/core/passes.hpp"
#include "src/core/without_throwing.hpp"
#include "src/webgpu/device_state.hpp"

namespace lanewise::webgpu {

namespace {

constexpr std::uint64_t kVectorBytes = 16;
constexpr std::uint64_t kCountBytes = 4;

template <class... Args>
tl::unexpected<Error> refuse(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...), {}});
}

// A buffer as one use touches it.
struct Range {
    WGPUBuffer buffer = nullptr;
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
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

class Binder {
public:
    Binder(Executable::State& executable, const Buffers& buffers, const Count& count)
        : executable_(executable),
          device_(*executable.device),
          wgpu_(device_.context.wgpu),
          limits_(device_.facts.caps.limits),
          plan_(executable.plan),
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
        const Range& input = range(Role::input);
        const Range& output = range(Role::output);
        in_place_ = plan_.in_place && input.buffer != nullptr && input.buffer == output.buffer &&
                    input.begin == output.begin;
        return check_shared_buffers();
    }

    Result<void> fill(Binding::State& binding) {
        binding.launch = share_out(plan_.share, count_);
        binding.count_in_buffer = count_buffer_ != nullptr;
        const std::vector<detail::PassPipeline>* pipelines = &executable_.pipelines;
        if (in_place_) {
            if (auto made = make_in_place(); !made) return made;
            pipelines = &executable_.in_place;
        }
        return device_.context.checked("binding buffers", ErrorCode::bad_argument,
                                       [&] { make_objects(binding, *pipelines); });
    }

private:
    std::uint64_t needed_bytes(Role role) const {
        return count_buffer_ != nullptr ? plan_.argument(role)->bytes
                                        : bytes_needed(plan_, role, count_);
    }

    // What is bound of a role for `binding`: all that kernels may reach.
    static std::uint64_t bound_bytes(std::uint64_t bytes, bool vectors) {
        return lanewise::detail::round_up(bytes, vectors ? kVectorBytes : 4);
    }

    bool has_vectors(Role role) const {
        for (std::size_t i = 0; i < plan_.passes.size(); ++i) {
            for (const wgsl::ShaderBinding& binding : executable_.pipelines[i].bindings) {
                if (binding.vectors && plan_.passes[i].bindings[binding.number].role == role)
                    return true;
            }
        }
        return false;
    }

    Result<void> check_role(Role role) {
        const Argument* argument = plan_.argument(role);
        const Buffer& buffer = *given(buffers_, role);
        const char* name = to_text(role);
        if (argument == nullptr) {
            if (buffer.buffer == nullptr && buffer.bytes == 0) return {};
            return refuse(ErrorCode::bad_argument,
                          "{}: the plan has no such buffer: leave it empty", name);
        }
        // Nothing is touched of a buffer for no items: there need not be one, and none is bound.
        if (needed_bytes(role) == 0) return {};
        const bool vectors = has_vectors(role);
        std::uint64_t needed = bound_bytes(needed_bytes(role), vectors);
        if (buffer.bytes < needed) {
            return refuse(ErrorCode::bad_argument,
                          "{}: {} bytes are given, {} needed for {} items{}", name, buffer.bytes,
                          needed, count_, vectors ? " (in whole vectors of 16 bytes)" : "");
        }
        needed = lanewise::detail::used_bytes(plan_, role, needed, buffer.bytes);
        if (buffer.buffer == nullptr)
            return refuse(ErrorCode::bad_argument, "{}: buffer is null", name);
        const std::uint64_t most =
            lanewise::detail::most_bound(plan_, role, needed, count_buffer_ != nullptr);
        if (most > limits_.max_storage_range) {
            return refuse(ErrorCode::limit_exceeded,
                          "{}: {} bytes are needed, max_storage_range is {}: work in parts", name,
                          most, limits_.max_storage_range);
        }
        const std::uint64_t alignment =
            std::max<std::uint64_t>(limits_.storage_offset_alignment, argument->alignment);
        WGPUBufferUsage usages = WGPUBufferUsage_Storage;
        if (role == Role::scratch && count_buffer_ != nullptr) usages |= WGPUBufferUsage_CopySrc;
        return take(role, buffer.buffer, buffer.offset, needed, alignment, usages);
    }

    Result<void> check_count_buffer() {
        if (plan_.argument(Role::scratch) == nullptr) {
            return refuse(ErrorCode::unsupported,
                          "count: the plan does not take it from a buffer: give a number");
        }
        if (count_buffer_->buffer == nullptr)
            return refuse(ErrorCode::bad_argument, "count: buffer is null");
        return take(Role::count, count_buffer_->buffer, count_buffer_->offset, kCountBytes,
                    limits_.storage_offset_alignment, WGPUBufferUsage_Storage);
    }

    Result<void> take(Role role, WGPUBuffer buffer, std::uint64_t offset, std::uint64_t bytes,
                      std::uint64_t alignment, WGPUBufferUsage usages) {
        const char* name = to_text(role);
        if (offset % std::max<std::uint64_t>(alignment, 4) != 0) {
            return refuse(ErrorCode::bad_argument, "{}: offset {} is no multiple of {}", name,
                          offset, alignment);
        }
        const std::uint64_t size = wgpu_.BufferGetSize(buffer);
        if (bytes > size || offset > size - bytes) {
            return refuse(ErrorCode::bad_argument,
                          "{}: {} bytes from offset {} pass the buffer's end at {}", name, bytes,
                          offset, size);
        }
        if (const WGPUBufferUsage lacking = usages & ~wgpu_.BufferGetUsage(buffer); lacking != 0) {
            return refuse(ErrorCode::bad_argument, "{}: the buffer was made without usage {}", name,
                          (lacking & WGPUBufferUsage_Storage) != 0 ? "Storage"
                                                                   : "CopySrc, which a count in a "
                                                                     "buffer needs");
        }
        ranges_[static_cast<std::size_t>(role)] = {buffer, offset, bytes};
        return {};
    }

    // Overlaps are wrong in every plan. Beyond that, WebGPU's usage scopes: in one dispatch a
    // buffer is read, or written, not both, whatever the ranges are. There it counts how a pass's
    // kernel declares its bindings: what one writes another may only read.
    Result<void> check_shared_buffers() const {
        constexpr Role kAll[] = {Role::input,      Role::output,    Role::scratch, Role::values,
                                 Role::values_out, Role::offsets,   Role::flags,   Role::keys,
                                 Role::rejected,   Role::count_out, Role::count};
        for (std::size_t j = 0; j < std::size(kAll); ++j) {
            for (std::size_t i = 0; i < j; ++i) {
                if (auto checked = check_overlap(kAll[i], kAll[j]); !checked) return checked;
            }
        }
        for (std::size_t i = 0; i < plan_.passes.size(); ++i) {
            const Pass& pass = plan_.passes[i];
            if (pass.when == When::count_in_buffer && count_buffer_ == nullptr) continue;
            const std::vector<Shown> shown = shown_in(pass, executable_.pipelines[i].bindings);
            for (std::size_t b = 0; b < shown.size(); ++b) {
                for (std::size_t a = 0; a < b; ++a) {
                    if (auto checked = check_shared(shown[a], shown[b]); !checked) return checked;
                }
            }
        }
        return {};
    }

    Result<void> check_overlap(Role a, Role b) const {
        const auto is_written = [&](Role role) {
            const Argument* argument = plan_.argument(role);
            return argument != nullptr && argument->access != Access::read;
        };
        const Range& x = range(a);
        const Range& y = range(b);
        if (x.buffer == nullptr || !(is_written(a) || is_written(b)) || !overlap(x, y)) return {};
        if (in_place_ && a == Role::input && b == Role::output) return {};
        return refuse(ErrorCode::bad_argument,
                      "{} ({:#x}, {} bytes) and {} ({:#x}, {} bytes) overlap: give each a range "
                      "of its own",
                      to_text(a), x.begin, x.bytes, to_text(b), y.begin, y.bytes);
    }

    struct Shown {
        Role role;
        bool written;
    };

    std::vector<Shown> shown_in(const Pass& pass,
                                const std::vector<wgsl::ShaderBinding>& bindings) const {
        // In place the pass that writes the output has one binding for both.
        const bool replaced =
            in_place_ && std::ranges::find(pass.bindings, Role::output, &PassBuffer::role) !=
                             pass.bindings.end();
        std::vector<Shown> shown;
        for (const wgsl::ShaderBinding& binding : bindings) {
            const Role role = pass.bindings[binding.number].role;
            if (replaced && role == Role::output) continue;
            shown.push_back(
                {role, binding.access != Access::read || (replaced && role == Role::input)});
        }
        return shown;
    }

    Result<void> check_shared(const Shown& a, const Shown& b) const {
        const WGPUBuffer buffer = range(a.role).buffer;
        if (buffer == nullptr || buffer != range(b.role).buffer || a.written == b.written)
            return {};
        return refuse(ErrorCode::bad_argument,
                      "{} and {} are ranges of one buffer, which WebGPU does not let a pass both "
                      "read and write: give each a buffer of its own",
                      to_text(a.role), to_text(b.role));
    }

    Result<void> make_in_place() {
        const std::lock_guard lock(executable_.in_place_mutex);
        if (!executable_.in_place.empty()) return {};
        std::vector<detail::PassPipeline> made;
        for (const Pass& pass : plan_.passes) {
            auto pipeline = detail::make_pass_pipeline(
                device_.context, device_.facts, device_.parameters_layout.get(), plan_, pass, true);
            if (!pipeline) return tl::unexpected(pipeline.error());
            made.push_back(*std::move(pipeline));
        }
        executable_.in_place = std::move(made);
        return {};
    }

    detail::OwnedBufferHandle make_buffer(const char* label, std::uint64_t bytes,
                                          WGPUBufferUsage usages) const {
        WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
        descriptor.label = detail::view_of(label);
        descriptor.size = lanewise::detail::round_up(bytes, kVectorBytes);
        descriptor.usage = usages;
        return {wgpu_, wgpu_.DeviceCreateBuffer(device_.context.device(), &descriptor)};
    }

    // Inside of error scopes.
    void make_objects(Binding::State& binding, const std::vector<detail::PassPipeline>& pipelines) {
        make_parameters(binding);
        if (plan_.state_bytes > 0) {
            // Buffers are zero when made (WebGPU, 5.1 on zero initialisation).
            binding.state = make_buffer("state", plan_.state_bytes, WGPUBufferUsage_Storage);
        }
        if (count_buffer_ != nullptr) {
            const std::uint64_t bytes =
                std::uint64_t{binding.launch.dispatches} * lanewise::detail::kIndirectBytes;
            binding.arguments = make_buffer("indirect arguments", bytes,
                                            WGPUBufferUsage_Indirect | WGPUBufferUsage_CopyDst);
            wgpu_.BufferAddRef(buffers_.scratch.buffer);
            binding.scratch = {wgpu_, buffers_.scratch.buffer};
            binding.scratch_offset = buffers_.scratch.offset;
        }
        // A binding must show something, touched or not; what is written, a buffer of its own.
        for (const Role role : kGiven) {
            if (plan_.argument(role) == nullptr || range(role).buffer != nullptr) continue;
            binding.nothing[static_cast<std::size_t>(role)] =
                make_buffer("nothing", kVectorBytes, WGPUBufferUsage_Storage);
        }
        for (std::size_t i = 0; i < plan_.passes.size(); ++i) {
            const Pass& pass = plan_.passes[i];
            if (pass.when == When::count_in_buffer && count_buffer_ == nullptr) continue;
            binding.pass_names.push_back(pass.name);
            binding.passes.push_back(
                {&pass, &pipelines[i], make_group(pass, pipelines[i], binding)});
        }
    }

    void make_parameters(Binding::State& binding) const {
        binding.stride = static_cast<std::uint32_t>(lanewise::detail::round_up(
            lanewise::detail::kParameterBytes, device_.facts.uniform_offset_alignment));
        std::vector<std::byte> contents(std::size_t{binding.launch.dispatches} * binding.stride);
        lanewise::detail::Parameters parameters = lanewise::detail::parameters_of(binding.launch);
        parameters.offset_words = static_cast<std::uint32_t>(range(Role::offsets).bytes / 4);
        for (std::uint32_t i = 0; i < binding.launch.dispatches; ++i) {
            parameters.first_group = i * plan_.share.max_groups;
            std::memcpy(contents.data() + std::size_t{i} * binding.stride, &parameters,
                        sizeof parameters);
        }
        binding.parameters = make_buffer("parameters", contents.size(),
                                         WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst);
        wgpu_.QueueWriteBuffer(device_.context.queue(), binding.parameters.get(), 0,
                               contents.data(), contents.size());
        WGPUBindGroupEntry entry = WGPU_BIND_GROUP_ENTRY_INIT;
        entry.binding = 0;
        entry.buffer = binding.parameters.get();
        entry.size = lanewise::detail::kParameterBytes;
        WGPUBindGroupDescriptor descriptor = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
        descriptor.label = detail::view_of("parameters");
        descriptor.layout = device_.parameters_layout.get();
        descriptor.entryCount = 1;
        descriptor.entries = &entry;
        binding.parameters_group = {
            wgpu_, wgpu_.DeviceCreateBindGroup(device_.context.device(), &descriptor)};
    }

    detail::OwnedBindGroup make_group(const Pass& pass, const detail::PassPipeline& pipeline,
                                      const Binding::State& binding) const {
        std::vector<WGPUBindGroupEntry> entries;
        for (const wgsl::ShaderBinding& shown : pipeline.bindings) {
            const Range bound = shown_range(pass.bindings[shown.number], shown.vectors, binding);
            WGPUBindGroupEntry entry = WGPU_BIND_GROUP_ENTRY_INIT;
            entry.binding = shown.number;
            entry.buffer = bound.buffer;
            entry.offset = bound.begin;
            entry.size = bound.bytes;
            entries.push_back(entry);
        }
        WGPUBindGroupDescriptor descriptor = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
        descriptor.label = detail::view_of(pass.name);
        descriptor.layout = pipeline.layout.get();
        descriptor.entryCount = entries.size();
        descriptor.entries = entries.data();
        return {wgpu_, wgpu_.DeviceCreateBindGroup(device_.context.device(), &descriptor)};
    }

    Range shown_range(const PassBuffer& part, bool vectors, const Binding::State& binding) const {
        const Role role = part.role;
        if (role == Role::state)
            return {binding.state.get(), 0,
                    lanewise::detail::round_up(plan_.state_bytes, kVectorBytes)};
        const Range& whole = range(role);
        if (part.bytes != 0)
            return {whole.buffer, whole.begin + part.offset, bound_bytes(part.bytes, vectors)};
        if (whole.buffer != nullptr) return whole;
        return {binding.nothing[static_cast<std::size_t>(role)].get(), 0, kVectorBytes};
    }

    const Range& range(Role role) const { return ranges_[static_cast<std::size_t>(role)]; }

    Executable::State& executable_;
    Device::State& device_;
    const Functions& wgpu_;
    const Limits& limits_;
    const Plan& plan_;
    const Buffers& buffers_;
    const CountBuffer* count_buffer_;
    std::uint64_t count_;
    std::array<Range, lanewise::detail::kRoles> ranges_;  // by role
    bool in_place_ = false;
};

}  // namespace

Result<Binding> Executable::bind(const Buffers& buffers, Count count) const {
    return lanewise::detail::without_throwing("binding buffers", [&]() -> Result<Binding> {
        Binder binder(*state_, buffers, count);
        if (auto checked = binder.check(); !checked) return tl::unexpected(checked.error());
        auto binding = std::make_shared<Binding::State>();
        binding->executable = state_;
        if (auto filled = binder.fill(*binding); !filled) return tl::unexpected(filled.error());
        return Binding(std::move(binding));
    });
}

}  // namespace lanewise::webgpu
