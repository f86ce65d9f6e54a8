// Runs the kernels in WGSL on Dawn in Node, as kernels/kernels.md tells a host to: every primitive, counts
// from the host and in a buffer, in every tier; the pinned one where the device takes sizes, which no
// library with a C interface does yet. Compilation messages of any kind are failures.
//
//   node dawn.mjs TOOL DAWN
//
// TOOL is the built `lanewise`, DAWN the dawn.node of npm's package `webgpu`; VK_ICD_FILENAMES chooses the
// driver, SwiftShader's for instance.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const kShareBytes = 20;

const [tool, dawn] = process.argv.slice(2);
if (!tool || !dawn) {
    console.error("usage: node dawn.mjs TOOL DAWN");
    process.exit(2);
}

async function makeDevice() {
    const webgpu = createRequire(import.meta.url)(dawn);
    Object.assign(globalThis, webgpu.globals);
    const gpu = webgpu.create([]);
    const adapter = await gpu.requestAdapter();
    if (!adapter) throw new Error("Dawn takes none of the devices here");
    const features = ["subgroups", "subgroup-size-control"].filter((feature) => adapter.features.has(feature));
    const device = await adapter.requestDevice({ requiredFeatures: features });
    return { gpu, device, info: adapter.info, features };
}

// What the tool plans for: the least of WebGPU, with the adapter's subgroups.
function capsOf(info, features) {
    const subgroups = features.includes("subgroups");
    return {
        api: "webgpu",
        device_name: info.description,
        subgroup: subgroups
            ? { operations: ["basic", "vote", "arithmetic", "ballot", "shuffle"], stages: ["compute"],
                size: info.subgroupMinSize, min_size: info.subgroupMinSize, max_size: info.subgroupMaxSize,
                size_is_true: true, max_workgroup_subgroups: 256 / info.subgroupMinSize,
                required_size_stages: features.includes("subgroup-size-control") ? ["compute"] : [] }
            : {},
        limits: { max_workgroup_invocations: 256, max_workgroup_size_x: 256, max_workgroup_memory: 16384,
                  max_groups_x: 65535, max_groups_y: 65535, max_groups_z: 65535, max_storage_buffers: 8,
                  max_storage_range: 134217728, storage_offset_alignment: 256 },
    };
}

const roundUp = (n, to) => Math.ceil(n / to) * to;

// lanewise::share_out
function shareOut(share, count) {
    const tiles = Math.ceil(count / share.tile_items);
    const most = Math.max(1, Math.floor(share.max_tiles_per_dispatch / share.max_groups));
    const tilesPerGroup = Math.min(Math.max(Math.ceil(tiles / share.max_groups), 1), most);
    const groups = Math.max(1, Math.ceil(tiles / tilesPerGroup));
    return { tiles, tilesPerGroup, groups, dispatches: Math.ceil(groups / share.max_groups) };
}

class Host {
    constructor(device, folder, capsFile) {
        this.device = device;
        this.folder = folder;
        this.capsFile = capsFile;
        this.said = new Map(); // what the tool printed, by its options
        this.pipelines = new Map(); // by text
        this.runs = 0;
    }

    run(...options) {
        const all = ["plan", ...options, "--caps", this.capsFile];
        const key = all.join(" ");
        if (!this.said.has(key))
            this.said.set(key, execFileSync(tool, all, { encoding: "utf8", maxBuffer: 1 << 26 }));
        return this.said.get(key);
    }

    buffer(bytes, usage, contents) {
        const buffer = this.device.createBuffer({
            size: roundUp(Math.max(bytes, 16), 16), usage: usage | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
        });
        if (contents && contents.byteLength > 0) {
            const padded = new Uint8Array(roundUp(contents.byteLength, 4));
            padded.set(new Uint8Array(contents.buffer, contents.byteOffset, contents.byteLength));
            this.device.queue.writeBuffer(buffer, 0, padded);
        }
        return buffer;
    }

    async pipeline(pass, number, options) {
        const text = this.run(...options, "--emit", "wgsl", "--pass", String(number));
        if (this.pipelines.has(text)) return this.pipelines.get(text);
        const module = this.device.createShaderModule({ code: text, label: pass.name });
        const { messages } = await module.getCompilationInfo();
        if (messages.length > 0)
            throw new Error(`${pass.name}: ${messages[0].lineNum}: ${messages[0].message}`);
        const entries = [...text.matchAll(
            /^@group\(0\) @binding\((\d+)\) var<storage, (\w+)>/gm)].map((found) => ({
            binding: Number(found[1]), visibility: GPUShaderStage.COMPUTE,
            buffer: { type: found[2] === "read" ? "read-only-storage" : "storage" },
        }));
        const layouts = [this.device.createBindGroupLayout({ entries }), this.device.createBindGroupLayout({
            entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "uniform" } }],
        })];
        const pipeline = await this.device.createComputePipelineAsync({
            layout: this.device.createPipelineLayout({ bindGroupLayouts: layouts }),
            compute: { module, entryPoint: "main" },
        });
        const made = { pipeline, layouts, numbers: entries.map((entry) => entry.binding) };
        this.pipelines.set(text, made);
        return made;
    }

    // The bytes of the output, or of what `result` names. `options` are the tool's.
    async execute(options, input, count, countInBuffer, result = "output", values = undefined) {
        const plan = JSON.parse(this.run(...options, "--json"));
        const bytes = Object.fromEntries(plan.arguments.map((argument) => [argument.role, argument.bytes]));
        const storage = GPUBufferUsage.STORAGE;
        const buffers = {
            input: this.buffer(bytes.input, storage, input),
            output: this.buffer(bytes.output ?? 0, storage),
            values: this.buffer(bytes.values ?? 0, storage, values),
            values_out: this.buffer(bytes.values_out ?? 0, storage),
            scratch: this.buffer(bytes.scratch, storage),
            state: this.buffer(plan.state_bytes, storage),
            count: this.buffer(4, storage, new Uint32Array([count])),
        };
        const launch = shareOut(plan.share, countInBuffer ? plan.max_count : count);
        const indirect = this.buffer(16 * launch.dispatches, GPUBufferUsage.INDIRECT);
        this.device.pushErrorScope("validation");
        const encoder = this.device.createCommandEncoder();
        const parameters = [];
        for (const [number, pass] of plan.passes.entries()) {
            if (pass.when === "count_in_buffer" && !countInBuffer) continue;
            const { pipeline, layouts, numbers } = await this.pipeline(pass, number, options);
            const entries = numbers.map((binding) => {
                // "input", or "scratch[256, +1024]"
                const [, role, offset, size] = /^(\w+)(?:\[(\d+), \+(\d+)\])?$/.exec(pass.bindings[binding]);
                const range = size ? { offset: Number(offset), size: Number(size) } : {};
                return { binding, resource: { buffer: buffers[role], ...range } };
            });
            const group = this.device.createBindGroup({ layout: layouts[0], entries });
            const shared = pass.groups === "share";
            for (let d = 0; d < (shared ? launch.dispatches : 1); ++d) {
                const first = shared ? d * plan.share.max_groups : 0;
                const uniform = this.buffer(32, GPUBufferUsage.UNIFORM, new Uint32Array(
                    [count, 0, launch.tiles, launch.tilesPerGroup, launch.groups, first, 0, 0]));
                if (countInBuffer && pass.when === "always")
                    encoder.copyBufferToBuffer(buffers.scratch, 0, uniform, 0, kShareBytes);
                const compute = encoder.beginComputePass({ label: pass.name });
                compute.setPipeline(pipeline);
                compute.setBindGroup(0, group);
                compute.setBindGroup(1, this.device.createBindGroup({
                    layout: layouts[1], entries: [{ binding: 0, resource: { buffer: uniform } }] }));
                if (shared && countInBuffer) compute.dispatchWorkgroupsIndirect(indirect, 16 * d);
                else compute.dispatchWorkgroups(shared ? Math.min(plan.share.max_groups, launch.groups - first) : 1);
                compute.end();
                parameters.push(uniform);
            }
            if (pass.name === "count_to_groups")
                encoder.copyBufferToBuffer(buffers.scratch, plan.indirect_offset, indirect, 0,
                                           16 * launch.dispatches);
        }
        const back = this.device.createBuffer({ size: buffers[result].size,
                                                usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
        encoder.copyBufferToBuffer(buffers[result], 0, back, 0, back.size);
        this.device.queue.submit([encoder.finish()]);
        const error = await this.device.popErrorScope();
        if (error) throw new Error(`${options.join(" ")}: ${error.message}`);
        await back.mapAsync(GPUMapMode.READ);
        const contents = back.getMappedRange().slice(0);
        for (const buffer of [...Object.values(buffers), indirect, back, ...parameters]) buffer.destroy();
        this.runs += 1;
        return contents;
    }
}

function random(count) {
    const numbers = new Uint32Array(count);
    let state = 12345;
    for (let i = 0; i < count; ++i) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        numbers[i] = state;
    }
    return numbers;
}

function expectSame(what, got, expected) {
    for (let i = 0; i < expected.length; ++i) {
        if (got[i] !== expected[i]) throw new Error(`${what}: word ${i} is ${got[i]}, not ${expected[i]}`);
    }
}

// Indices by some bits of keys, which keep the order of equal ones; and bytes, four to a word, with values.
async function expectSorts(host, tier, count, most, inBuffer) {
    const what = `${tier}, ${count} items${inBuffer ? ", count in a buffer" : ""}`;
    const common = ["sort", "--tier", tier, "--count", String(most)];
    const input = random(most).subarray(0, count);
    const orderBy = (part) => Uint32Array.from(input.keys()).sort((a, b) => part(a) - part(b) || a - b);
    const indices = ["--argsort", "--bits", "8:18"];
    expectSame(`indices, ${what}`, new Uint32Array(await host.execute(
        [...common, ...indices], input, count, inBuffer, "values_out")), orderBy((i) => (input[i] >>> 8) & 0x3ff));
    const bytes = Uint8Array.from(input, (x) => x >>> 20);
    const records = [...common, "--type", "u8", "--value-bytes", "4"];
    expectSame(`keys, ${what}`, new Uint8Array(await host.execute(
        records, bytes, count, inBuffer, "output", input)), bytes.slice().sort());
    expectSame(`values, ${what}`, new Uint32Array(await host.execute(
        records, bytes, count, inBuffer, "values_out", input)), orderBy((i) => bytes[i]).map((i) => input[i]));
}

const { gpu, device, info, features } = await makeDevice(); // without gpu there is no device
const folder = mkdtempSync(join(tmpdir(), "lanewise-dawn-"));
try {
    const capsFile = join(folder, "caps.json");
    writeFileSync(capsFile, JSON.stringify(capsOf(info, features)));
    // Sorts look back where workgroups are known to progress, and have small workgroups on a CPU.
    const waitingFile = join(folder, "waiting.json");
    writeFileSync(waitingFile, JSON.stringify({ ...capsOf(info, features), forward_progress: "guaranteed" }));
    const idleFile = join(folder, "idle.json");
    writeFileSync(idleFile, JSON.stringify({ ...capsOf(info, features), cpu_device: true }));
    const host = new Host(device, folder, capsFile);
    const tiers = [...(features.includes("subgroup-size-control") ? ["pinned"] : []),
                   ...(features.includes("subgroups") ? ["portable"] : []), "barrier"];
    const most = 70000;
    for (const tier of tiers) {
        for (const count of [0, 1, 7, 1000, 65537, most]) {
            for (const inBuffer of [false, true]) {
                const input = random(most).subarray(0, count);
                const common = ["--tier", tier, "--count", String(most)];
                const what = `${tier}, ${count} items${inBuffer ? ", count in a buffer" : ""}`;
                const sum = new Uint32Array(
                    await host.execute(["reduce", ...common], input, count, inBuffer));
                expectSame(`sum, ${what}`, sum, [input.reduce((a, b) => (a + b) >>> 0, 0)]);
                const best = new Uint32Array(await host.execute(
                    ["reduce", ...common, "--op", "argmax"], input, count, inBuffer));
                if (count > 0) {
                    const largest = input.reduce((a, b) => Math.max(a, b), 0);
                    expectSame(`argmax, ${what}`, best, [largest, input.indexOf(largest)]);
                }
                const prefixes = new Uint32Array(count);
                let before = 0;
                for (let i = 0; i < count; ++i) prefixes[i] = before = (before + input[i]) >>> 0;
                for (const strategy of ["reduce_then_scan", "look_back", "reduce_ahead"]) {
                    const scan = new Uint32Array(await host.execute(
                        ["scan", ...common, "--strategy", strategy], input, count, inBuffer));
                    expectSame(`scan, ${strategy}, ${what}`, scan, prefixes);
                }
            }
        }
        for (const caps of [idleFile, waitingFile]) {
            if (caps === waitingFile && tier === "pinned") continue; // the portable one, with an attribute
            host.capsFile = caps;
            for (const [i, count] of [0, 1, 1000, most].entries())
                await expectSorts(host, tier, count, most, (i % 2 === 0) === (caps === idleFile));
        }
        host.capsFile = capsFile;
    }
    console.log(`${info.description}: ${tiers.join(", ")}: ${host.pipelines.size} texts without a message, ${host.runs} runs right`);
} catch (error) {
    console.log(error.message);
    process.exitCode = 1;
} finally {
    rmSync(folder, { recursive: true });
    device.destroy();
}
process.exit(gpu ? process.exitCode : 1);
