#include "lanewise/caps.hpp"

#include <bit>
#include <concepts>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/core/names.hpp"

namespace lanewise {
namespace {

using Json = nlohmann::ordered_json;

constexpr detail::Names<Api, 4> kApiNames{{{Api::none, "none"},
                                           {Api::vulkan, "vulkan"},
                                           {Api::webgpu, "webgpu"},
                                           {Api::simulator, "simulator"}}};
constexpr detail::Names<Tier, 3> kTierNames{
    {{Tier::pinned, "pinned"}, {Tier::portable, "portable"}, {Tier::barrier, "barrier"}}};
constexpr detail::Names<ForwardProgress, 2> kProgressNames{
    {{ForwardProgress::unknown, "unknown"}, {ForwardProgress::guaranteed, "guaranteed"}}};
constexpr detail::Names<ProbeState, 3> kProbeNames{{{ProbeState::not_run, "not_run"},
                                                    {ProbeState::passed, "passed"},
                                                    {ProbeState::failed, "failed"}}};
constexpr detail::Names<std::uint32_t, 8> kOperationNames{
    {{SubgroupOperation::basic, "basic"},
     {SubgroupOperation::vote, "vote"},
     {SubgroupOperation::arithmetic, "arithmetic"},
     {SubgroupOperation::ballot, "ballot"},
     {SubgroupOperation::shuffle, "shuffle"},
     {SubgroupOperation::shuffle_relative, "shuffle_relative"},
     {SubgroupOperation::clustered, "clustered"},
     {SubgroupOperation::quad, "quad"}}};
constexpr detail::Names<std::uint32_t, 8> kStageNames{
    {{Stage::vertex, "vertex"},
     {Stage::tessellation_control, "tessellation_control"},
     {Stage::tessellation_evaluation, "tessellation_evaluation"},
     {Stage::geometry, "geometry"},
     {Stage::fragment, "fragment"},
     {Stage::compute, "compute"},
     {Stage::task, "task"},
     {Stage::mesh, "mesh"}}};

template <std::size_t N>
std::string bits_to_text(const detail::Names<std::uint32_t, N>& names, std::uint32_t bits) {
    std::string text;
    for (const auto& [bit, name] : names) {
        if ((bits & bit) == 0) continue;
        if (!text.empty()) text += ' ';
        text += name;
    }
    return text.empty() ? "none" : text;
}

template <std::size_t N>
Json bits_to_json(const detail::Names<std::uint32_t, N>& names, std::uint32_t bits) {
    Json list = Json::array();
    for (const auto& [bit, name] : names) {
        if ((bits & bit) != 0) list.push_back(name);
    }
    return list;
}

// Each structure lists its fields once; the same list writes and reads.
template <class Visitor>
void visit(Visitor&& v, auto& s) requires requires {
    s.max_workgroup_subgroups;
}
{
    v.bits("operations", s.operations, kOperationNames);
    v.bits("stages", s.stages, kStageNames);
    v("size", s.size);
    v("min_size", s.min_size);
    v("max_size", s.max_size);
    v("size_is_true", s.size_is_true);
    v.bits("required_size_stages", s.required_size_stages, kStageNames);
    v("full_subgroups", s.full_subgroups);
    v("max_workgroup_subgroups", s.max_workgroup_subgroups);
    v("extended_types", s.extended_types);
}

template <class Visitor>
void visit(Visitor&& v, auto& limits) requires requires {
    limits.max_workgroup_invocations;
}
{
    v("max_workgroup_invocations", limits.max_workgroup_invocations);
    v("max_workgroup_size_x", limits.max_workgroup_size_x);
    v("max_workgroup_memory", limits.max_workgroup_memory);
    v("max_groups_x", limits.max_groups_x);
    v("max_groups_y", limits.max_groups_y);
    v("max_groups_z", limits.max_groups_z);
    v("max_storage_buffers", limits.max_storage_buffers);
    v("max_storage_range", limits.max_storage_range);
    v("storage_offset_alignment", limits.storage_offset_alignment);
    v("max_push_constants", limits.max_push_constants);
}

template <class Visitor>
void visit(Visitor&& v, auto& types) requires requires {
    types.float16;
}
{
    v("int64", types.int64);
    v("float64", types.float64);
    v("float16", types.float16);
    v("int8", types.int8);
    v("int16", types.int16);
    v("storage8", types.storage8);
    v("storage16", types.storage16);
}

template <class Visitor>
void visit(Visitor&& v, auto& caps) requires requires {
    caps.device_name;
}
{
    v.name("api", caps.api, kApiNames);
    v("device_name", caps.device_name);
    v("driver", caps.driver);
    v("vendor_id", caps.vendor_id);
    v("device_id", caps.device_id);
    v("driver_version", caps.driver_version);
    v("api_version_major", caps.api_version_major);
    v("api_version_minor", caps.api_version_minor);
    v("cpu_device", caps.cpu_device);
    v.object("subgroup", caps.subgroup);
    v.object("limits", caps.limits);
    v.object("types", caps.types);
    v("device_addresses", caps.device_addresses);
    v("push_descriptors", caps.push_descriptors);
    v("device_scope_barrier", caps.device_scope_barrier);
    v("memory_model", caps.memory_model);
    v("int64_atomics", caps.int64_atomics);
    v("timestamps", caps.timestamps);
    v("timestamp_period_ns", caps.timestamp_period_ns);
    v.name("forward_progress", caps.forward_progress, kProgressNames);
    v.name("probe", caps.probe, kProbeNames);
    v("probe_report", caps.probe_report);
}

struct Writer {
    Json json = Json::object();

    template <class T>
    void operator()(const char* key, const T& value) {
        json[key] = value;
    }
    template <class Enum, std::size_t N>
    void name(const char* key, Enum value, const detail::Names<Enum, N>& names) {
        json[key] = detail::name_of(names, value);
    }
    template <std::size_t N>
    void bits(const char* key, std::uint32_t value, const detail::Names<std::uint32_t, N>& names) {
        json[key] = bits_to_json(names, value);
    }
    template <class T>
    void object(const char* key, const T& value) {
        Writer inner;
        visit(inner, value);
        json[key] = std::move(inner.json);
    }
};

// Takes each known key out of `json`; what is left is unknown. Keeps the first error.
struct Reader {
    Json json;
    std::string path;
    std::string error;

    void fail(const char* key, std::string_view what) {
        if (error.empty()) error = fmt::format("field '{}{}' {}", path, key, what);
    }
    std::optional<Json> take(const char* key) {
        const auto found = json.find(key);
        if (found == json.end()) return std::nullopt;
        Json value = std::move(*found);
        json.erase(found);
        return value;
    }
    void operator()(const char* key, bool& value) {
        const auto field = take(key);
        if (!field) return;
        if (!field->is_boolean()) return fail(key, "must be true or false");
        value = field->get<bool>();
    }
    void operator()(const char* key, std::string& value) {
        const auto field = take(key);
        if (!field) return;
        if (!field->is_string()) return fail(key, "must be a string");
        value = field->get<std::string>();
    }
    void operator()(const char* key, double& value) {
        const auto field = take(key);
        if (!field) return;
        if (!field->is_number() || field->get<double>() < 0)
            return fail(key, "must be a number, 0 or more");
        value = field->get<double>();
    }
    template <std::unsigned_integral T>
        requires(!std::same_as<T, bool>)
    void operator()(const char* key, T& value) {
        const auto field = take(key);
        if (!field) return;
        if (!field->is_number_unsigned() ||
            field->get<std::uint64_t>() > std::numeric_limits<T>::max()) {
            return fail(key, fmt::format("must be a whole number from 0 to {}",
                                         std::numeric_limits<T>::max()));
        }
        value = field->get<T>();
    }
    template <class Enum, std::size_t N>
    void name(const char* key, Enum& value, const detail::Names<Enum, N>& names) {
        const auto field = take(key);
        if (!field) return;
        const auto found =
            field->is_string() ? detail::value_of(names, field->get<std::string>()) : std::nullopt;
        if (!found) return fail(key, fmt::format("must not be {}", field->dump()));
        value = *found;
    }
    template <std::size_t N>
    void bits(const char* key, std::uint32_t& value, const detail::Names<std::uint32_t, N>& names) {
        const auto field = take(key);
        if (!field) return;
        if (!field->is_array()) return fail(key, "must be a list of names");
        value = 0;
        for (const Json& item : *field) {
            const auto bit =
                item.is_string() ? detail::value_of(names, item.get<std::string>()) : std::nullopt;
            if (!bit) return fail(key, fmt::format("must not hold {}", item.dump()));
            value |= *bit;
        }
    }
    template <class T>
    void object(const char* key, T& value) {
        auto field = take(key);
        if (!field) return;
        if (!field->is_object()) return fail(key, "must be an object");
        Reader inner{std::move(*field), path + key + ".", {}};
        visit(inner, value);
        inner.finish();
        if (error.empty()) error = inner.error;
    }
    void finish() {
        if (!json.empty()) fail(json.begin().key().c_str(), "is unknown");
    }
};

// What no device can be. Empty when all is well.
std::string contradiction(const Caps& caps) {
    const SubgroupCaps& s = caps.subgroup;
    for (const auto& [name, size] : {std::pair{"size", s.size}, std::pair{"min_size", s.min_size},
                                     std::pair{"max_size", s.max_size}}) {
        // A device without subgroups has no size, and WebGPU names none where there are several.
        if (size == 0 && (s.operations == 0 || name == std::string_view("size"))) continue;
        if (!std::has_single_bit(size) || size > 128) {
            return fmt::format("field 'subgroup.{}' must be a power of two up to 128, not {}", name,
                               size);
        }
    }
    if (s.min_size > s.max_size) {
        return fmt::format("field 'subgroup.min_size' ({}) is above 'subgroup.max_size' ({})",
                           s.min_size, s.max_size);
    }
    return {};
}

}  // namespace

const char* to_text(Api api) { return detail::name_of(kApiNames, api); }
const char* to_text(Tier tier) { return detail::name_of(kTierNames, tier); }
const char* to_text(ForwardProgress progress) { return detail::name_of(kProgressNames, progress); }
const char* to_text(ProbeState state) { return detail::name_of(kProbeNames, state); }

std::string operations_to_text(std::uint32_t operations) {
    return bits_to_text(kOperationNames, operations);
}

std::string stages_to_text(std::uint32_t stages) { return bits_to_text(kStageNames, stages); }

std::string caps_to_json(const Caps& caps) {
    Writer writer;
    visit(writer, caps);
    return writer.json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Result<Caps> caps_from_json(std::string_view text) {
    Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) {
        return tl::unexpected(
            Error{ErrorCode::bad_argument, "caps: not a JSON object; see caps_to_json", {}});
    }
    Reader reader{std::move(json), {}, {}};
    Caps caps;
    visit(reader, caps);
    reader.finish();
    if (reader.error.empty()) reader.error = contradiction(caps);
    if (!reader.error.empty()) {
        return tl::unexpected(Error{ErrorCode::bad_argument, "caps: " + reader.error, {}});
    }
    return caps;
}

}  // namespace lanewise
