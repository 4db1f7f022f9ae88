// Compiles the contracts with the solc of npm, once for their content.
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const root = import.meta.dirname;
const read = (name) => fs.readFileSync(path.join(root, "node_modules", name), "utf8");

function build(solc, sources, evmVersion, at) {
  const out = JSON.parse(solc.compile(JSON.stringify({
    language: "Solidity", sources: Object.fromEntries(Object.entries(sources).map(([file, content]) => [file, { content }])),
    settings: { optimizer: { enabled: true, runs: 1 }, evmVersion, outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } } },
  }), at));
  const fatal = (out.errors ?? []).filter((e) => e.severity === "error");
  if (fatal.length) throw new Error(fatal.map((e) => e.formattedMessage).join("\n"));
  return (file, name) => ({ abi: out.contracts[file][name].abi, bytecode: `0x${out.contracts[file][name].evm.bytecode.object}` });
}

export function compiled() {
  const own = Object.fromEntries(["V5.sol", "V49.sol", "V46.sol", "Own.sol"].map((f) => [f, fs.readFileSync(path.join(root, "contracts", f), "utf8")]));
  const file = path.join(root, `compiled-${crypto.createHash("sha256").update(JSON.stringify(own)).digest("hex").slice(0, 16)}.json`);
  if (fs.existsSync(file)) return JSON.parse(fs.readFileSync(file, "utf8"));
  const now = build(require("solc"), own, "cancun", { import: (name) => ({ contents: read(name) }) });
  const venus = "@venusprotocol/governance-contracts/contracts/";
  const delegate = "legacy/GovernorBravoDelegateV1.sol", delegator = "Governance/GovernorBravoDelegator.sol";
  const files = [delegate, "legacy/GovernorBravoInterfaces.sol", delegator, "Governance/GovernorBravoInterfaces.sol"];
  const old = build(require("solc-0.5"), Object.fromEntries(files.map((f) => [f, read(venus + f)])), "istanbul", (name) => ({ contents: read(venus + name) }));
  const kinds = { Against: "V5", Fractional: "V5", Dynamic: "V5", Late: "V5", Super: "V5", Overridable: "V5", Token: "V5", TimeToken: "V5", Modules: "Own", Before: "Own", Names: "Own", Escrow: "Own", TokenEscrow: "Own" };
  const all = Object.fromEntries(Object.entries(kinds).map(([name, of]) => [name, now(`${of}.sol`, name)]));
  for (const of of ["V49", "V46"]) for (const name of ["Token", "Simple"]) all[`${name}${of}`] = now(`${of}.sol`, name);
  all.Bravo = old(delegate, "GovernorBravoDelegateV1");
  all.Delegator = old(delegator, "GovernorBravoDelegator");
  fs.writeFileSync(file, JSON.stringify(all));
  return all;
}
