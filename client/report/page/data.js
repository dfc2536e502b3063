// What the page carries: JSON, and arrays in blocks that are unpacked when they are first needed.
const {abs, ceil, floor, max, min, round} = Math;
const byId = id => document.getElementById(id);
const on = (element, event, does, options) => element.addEventListener(event, does, options);
const meta = JSON.parse(byId("d-meta").textContent);
const span = meta.span || 1;
const names = (() => {
  let all;
  return i => (all ??= JSON.parse(byId("d-names").textContent))[i] ?? "…";
})();

const kinds = {u8: Uint8Array, u16: Uint16Array, f32: Float32Array, f64: Float64Array};
const blocks = {};
const unpack = async id => {
  const text = byId("b-" + id).textContent;
  let bytes;
  if (Uint8Array.fromBase64) {
    bytes = Uint8Array.fromBase64(text);
  } else {
    const raw = atob(text);
    bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return blocks[id].buffer = await new Response(stream).arrayBuffer();
};
const block = id => (blocks[id] ??= {}).ready ??= unpack(id);
// Of a block that is there.
const array = name => {
  const [id, kind, offset, count] = meta.arrays[name];
  return new kinds[kind](blocks[id].buffer, offset, count);
};

// Events of a lane: begin and length in ns, name, and a number by kind (lanes.h).
const decoded = {};
const events = lane => decoded[lane[3]] ??= (() => {
  const count = lane[2], bytes = array(lane[3]);
  const out = {count, begin: new Float64Array(count), length: new Float64Array(count),
    name: new Uint32Array(count), more: new Float64Array(count), longest: 0};
  let at = 0, time = 0;
  const next = () => {
    let value = 0, scale = 1, byte;
    do {
      byte = bytes[at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  };
  for (let i = 0; i < count; ++i) {
    out.begin[i] = time += next();
    out.length[i] = next();
    out.name[i] = next();
    out.more[i] = next();
    if (out.length[i] > out.longest) out.longest = out.length[i];
  }
  return out;
})();
const lowerBound = (values, value) => {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
};
