// Random numbers from a seed, so that a run can be repeated (mulberry32).
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const pick = (next, list) => list[Math.floor(next() * list.length)];

// One of the keys of {key: weight}.
export function pickWeighted(next, weights) {
  let left = next() * Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  for (const [key, weight] of Object.entries(weights)) if ((left -= weight) < 0) return key;
  return Object.keys(weights)[0];
}
