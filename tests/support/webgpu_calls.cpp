#include "tests/support/webgpu_calls.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <utility>

namespace lanewise::test {
namespace {

using webgpu::Functions;

enum Index : std::size_t {
#define LANEWISE_INDEX(name) k##name,
    LANEWISE_WEBGPU_HOST_FUNCTIONS(LANEWISE_INDEX) LANEWISE_WEBGPU_OWNING_FUNCTIONS(LANEWISE_INDEX)
#undef LANEWISE_INDEX
        kFunctions
};

constexpr std::string_view kNames[] = {
#define LANEWISE_NAME(name) #name,
    LANEWISE_WEBGPU_HOST_FUNCTIONS(LANEWISE_NAME) LANEWISE_WEBGPU_OWNING_FUNCTIONS(LANEWISE_NAME)
#undef LANEWISE_NAME
};

using Any = void (*)();
std::array<std::atomic<Any>, kFunctions> real_functions;
std::array<std::atomic<int>, kFunctions> counts;

std::mutex mutex;
std::vector<std::string> texts;
std::vector<ComputePassSeen> passes;
std::vector<CopySeen> copies;
std::vector<std::uint64_t> dispatches;

std::string text_of(WGPUStringView view) {
    if (view.data == nullptr) return {};
    return view.length == WGPU_STRLEN ? std::string(view.data)
                                      : std::string(view.data, view.length);
}

template <std::size_t I, class... A>
void observe(const A&...) {}

template <std::size_t I>
    requires(I == kDeviceCreateShaderModule)
void observe(const WGPUDevice&, const WGPUShaderModuleDescriptor* const& descriptor) {
    for (const WGPUChainedStruct* s = descriptor->nextInChain; s != nullptr; s = s->next) {
        if (s->sType != WGPUSType_ShaderSourceWGSL) continue;
        const std::lock_guard lock(mutex);
        texts.push_back(text_of(reinterpret_cast<const WGPUShaderSourceWGSL*>(s)->code));
    }
}

template <std::size_t I>
    requires(I == kCommandEncoderBeginComputePass)
void observe(const WGPUCommandEncoder&, const WGPUComputePassDescriptor* const& descriptor) {
    ComputePassSeen seen;
    if (descriptor != nullptr) {
        seen.label = text_of(descriptor->label);
        if (const auto* writes = descriptor->timestampWrites; writes != nullptr) {
            seen.query_set = writes->querySet;
            seen.begin_query = writes->beginningOfPassWriteIndex;
            seen.end_query = writes->endOfPassWriteIndex;
        }
    }
    const std::lock_guard lock(mutex);
    passes.push_back(std::move(seen));
}

template <std::size_t I>
    requires(I == kCommandEncoderCopyBufferToBuffer)
void observe(const WGPUCommandEncoder&, const WGPUBuffer& from, const std::uint64_t&,
             const WGPUBuffer& to, const std::uint64_t&, const std::uint64_t& bytes) {
    const std::lock_guard lock(mutex);
    copies.push_back({from, to, bytes});
}

template <std::size_t I>
    requires(I == kComputePassEncoderDispatchWorkgroups)
void observe(const WGPUComputePassEncoder&, const std::uint32_t& x, const std::uint32_t& y,
             const std::uint32_t& z) {
    const std::lock_guard lock(mutex);
    dispatches.push_back(std::uint64_t{x} * y * z);
}

template <std::size_t I, class F>
struct Watched;

template <std::size_t I, class R, class... A>
struct Watched<I, R (*)(A...)> {
    static R call(A... arguments) {
        ++counts[I];
        observe<I>(arguments...);
        return reinterpret_cast<R (*)(A...)>(real_functions[I].load())(arguments...);
    }
};

template <class T>
std::vector<T> take(std::vector<T>& from) {
    const std::lock_guard lock(mutex);
    return std::exchange(from, {});
}

}  // namespace

Functions WebgpuCalls::watched(const Functions& real) {
    Functions functions = real;
#define LANEWISE_WATCH(name)                                            \
    if (real.name != nullptr) {                                         \
        using Call = Watched<k##name, decltype(real.name)>;             \
        if (real.name != &Call::call) {                                 \
            real_functions[k##name] = reinterpret_cast<Any>(real.name); \
            functions.name = &Call::call;                               \
        }                                                               \
    }
    LANEWISE_WEBGPU_HOST_FUNCTIONS(LANEWISE_WATCH)
    LANEWISE_WEBGPU_OWNING_FUNCTIONS(LANEWISE_WATCH)
#undef LANEWISE_WATCH
    return functions;
}

void WebgpuCalls::reset() {
    for (auto& count : counts) count = 0;
    const std::lock_guard lock(mutex);
    texts.clear();
    passes.clear();
    copies.clear();
    dispatches.clear();
}

int WebgpuCalls::calls(std::string_view function) {
    const auto* const found = std::ranges::find(kNames, function);
    return found != std::end(kNames) ? counts[static_cast<std::size_t>(found - kNames)].load() : -1;
}

int WebgpuCalls::calls_that_begin(std::string_view start) {
    int calls = 0;
    for (std::size_t i = 0; i < kFunctions; ++i)
        if (kNames[i].starts_with(start)) calls += counts[i];
    return calls;
}

int WebgpuCalls::references(std::string_view object) {
    int references = 0;
    const std::string name(object);
    for (std::size_t i = 0; i < kFunctions; ++i) {
        if (kNames[i] == "DeviceCreate" + name || kNames[i] == name + "AddRef" ||
            kNames[i] == "DeviceGet" + name)
            references += counts[i];
        if (kNames[i] == name + "Release") references -= counts[i];
    }
    // Made by a function of another name.
    if (name == "ComputePassEncoder") references += counts[kCommandEncoderBeginComputePass];
    return references;
}

std::vector<std::string> WebgpuCalls::take_texts() { return take(texts); }
std::vector<ComputePassSeen> WebgpuCalls::take_passes() { return take(passes); }
std::vector<CopySeen> WebgpuCalls::take_copies() { return take(copies); }
std::vector<std::uint64_t> WebgpuCalls::take_dispatches() { return take(dispatches); }

}  // namespace lanewise::test
