// Compares two JSON values field by field.

const isObject = (value) => value !== null && typeof value === "object";

// Whether two elements of lists are likely to be the same thing: objects with the same members.
const sameMembers = (a, b) =>
  !isObject(a) || !isObject(b) || Object.keys(a).sort().join() === Object.keys(b).sort().join();

// Pairs the elements of two lists. In the longer one, elements that do not fit are paired with undefined.
function aligned(client, allm) {
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < client.length || j < allm.length) {
    const spare = client.length - i - (allm.length - j);
    if (spare === 0 || (i < client.length && j < allm.length && sameMembers(client[i], allm[j]))) {
      pairs.push([client[i++], allm[j++]]);
    } else {
      pairs.push(spare > 0 ? [client[i++], undefined] : [undefined, allm[j++]]);
    }
  }
  return pairs;
}

// Calls `add(path, kind, client's value, allm's value)` for each difference. Kinds: "only client", "only allm",
// "differ".
export function compare(path, client, allm, add) {
  if (client === undefined && allm === undefined) return;
  if (client === undefined) return add(path, "only allm", client, allm);
  if (allm === undefined) return add(path, "only client", client, allm);
  if (!isObject(client) || !isObject(allm) || Array.isArray(client) !== Array.isArray(allm)) {
    if (client !== allm) add(path, "differ", client, allm);
    return;
  }
  if (Array.isArray(client)) {
    aligned(client, allm).forEach(([left, right], i) => compare(`${path}[${i}]`, left, right, add));
    return;
  }
  for (const key of new Set([...Object.keys(client), ...Object.keys(allm)])) {
    compare(`${path}.${key}`, client[key], allm[key], add);
  }
}

// Whether a path matches a pattern in which `*` stands for any text without a dot.
export function matches(pattern, path) {
  const escaped = pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[^.]*");
  return new RegExp(`^${escaped}$`).test(path);
}

// Ids and encrypted reasoning that aimock makes up; the first group is the kind.
const madeUp = /^(msg|resp|rs|fc)[-_][\w-]{6,}$|^(YWltb2NrLWVuY3J5cHRlZC1yZWFzb25pbmc6)[\w=+/]+$/;

// Replaces what the server made up by its kind and number, so that two conversations can be compared.
export function withoutMadeUpValues(value) {
  const names = new Map();
  const counts = {};
  const nameOf = (kind, part) => {
    if (!names.has(part)) names.set(part, `${kind} ${(counts[kind] = (counts[kind] ?? 0) + 1)} of the server`);
    return names.get(part);
  };
  const visit = (part) => {
    const known = typeof part === "string" && madeUp.exec(part);
    if (known) return nameOf(known[1] ?? "secret", part);
    if (Array.isArray(part)) return part.map(visit);
    if (isObject(part)) return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, visit(inner)]));
    return part;
  };
  return visit(value);
}
