// The installed npm packages, and the paths of this checkout.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, "..", "..");
export const buildFolder = join(root, "build-foreign");
export const packageFolder = (name) => join(buildFolder, "node_modules", name);

// `load("openai")`: the packages are in the build folder, where a plain import would not find them.
export const load = createRequire(join(buildFolder, "package.json"));
