// Deploys a Governor of each kind on an EVM, and plays a step of their lives for each line of the
// input. After each it prints what the contracts themselves say.
import { encodeFunctionData, keccak256, toHex } from "viem";
import { namehash } from "viem/ens";
import { compiled } from "./compile.mjs";
import { a, call, deploy, header, height, hex, mine, play, write } from "./node.mjs";

const art = compiled();
const whole = [200_000n, 400_000n, 300_000n, 10_000n, 20_000n, 30_000n, 1n, 50_000n];
async function token(kind, unit) {
  const t = await deploy(kind);
  for (const [i, n] of whole.entries()) {
    await write(a[0], t, "mint", a[i], n * unit + BigInt(i)); // a digit to the last decimal
    await write(a[i], t, "delegate", i === 7 ? a[1] : a[i]);
  }
  return t;
}
const e18 = 10n ** 18n;
const quay = await token(art.Token, e18), tide = await token(art.TimeToken, 10n ** 6n);
const v49 = await token(art.TokenV49, e18), v46 = await token(art.TokenV46, e18);
const before = await deploy(art.Before), delegate = await deploy(art.Bravo);
const bravo = await deploy(art.Delegator, before.address, quay.address, a[0], delegate.address, 3600n, 1n, 150_000n * e18, a[9]);
bravo.abi = [...art.Bravo.abi];
await write(a[0], bravo, "_initiate", before.address);
const governors = {
  against: await deploy(art.Against, quay.address), fractional: await deploy(art.Fractional, tide.address), dynamic: await deploy(art.Dynamic, quay.address),
  late: await deploy(art.Late, quay.address), super: await deploy(art.Super, quay.address), overridable: await deploy(art.Overridable, quay.address),
  v49: await deploy(art.SimpleV49, v49.address), v46: await deploy(art.SimpleV46, v46.address), modules: await deploy(art.Modules), bravo,
};
const registry = await deploy(art.Names);
const primary = (who, name) => write(a[0], registry, "set", namehash(`${a[who].slice(2).toLowerCase()}.addr.reverse`), name);
const point = (name, who) => write(a[0], registry, "point", namehash(name), a[who]);
await primary(0, "quay.eth");
await point("quay.eth", 0);
await primary(1, "quay.eth"); // whose record leads elsewhere
await primary(2, "qu\u0430y.eth"); // of two scripts
await point("qu\u0430y.eth", 2);
await primary(3, "Quay.eth"); // not in normal form
await point("Quay.eth", 3);
await primary(4, "nowhere.eth");
await mine(10); // until these are final
const proposals = Object.fromEntries(Object.keys(governors).map((name) => [name, []]));
// The first proposal of "super" pays of its own and of what a holder allows it.
const tokenCall = (functionName, ...args) => encodeFunctionData({ abi: quay.abi, functionName, args });
const payments = [[quay.address, quay.address], [0n, 0n], [tokenCall("transfer", a[8], 7n), tokenCall("transferFrom", a[9], a[8], 5n)]];
for (const to of [governors.super.address, a[9]]) await write(a[0], quay, "mint", to, 100n);
await write(a[9], quay, "approve", governors.super.address, 5n);

async function propose(name, text) {
  const g = governors[name], last = proposals[name].length, from = a[last];
  const content = [...(name === "super" && !last ? payments : [[a[8]], [0n], ["0x"]]), text];
  let id, salt = BigInt(last);
  if (name === "modules") {
    await write(from, g, "propose", salt, text);
    id = BigInt(keccak256(toHex(salt, { size: 32 })));
  } else if (name === "bravo") {
    await write(from, g, "propose", [a[8]], [0n], ["f()"], ["0x"], text);
    id = await call(g, "proposalCount");
  } else {
    await write(from, g, "propose", ...content);
    id = await call(g, "hashProposal", [...content.slice(0, 3), keccak256(toHex(text))]);
  }
  proposals[name].push({ id, created: await height() });
}
const vote = (name, who, support, n = 0) => write(a[who], governors[name], "castVote", proposals[name][n].id, support);
const parts = (who, ...sides) => write(a[who], governors.fractional, "castVoteWithReasonAndParams", proposals.fractional[0].id, 255, "a part",
  `0x${sides.map((n) => n.toString(16).padStart(32, "0")).join("")}`);
const u = 10n ** 6n;
const tokens = { quay, tide, v49, v46 };
const nobody = `0x${"0".repeat(40)}`;
const delegates = async (who, to) => { for (const t of Object.values(tokens)) await write(a[who], t, "delegate", to); };
const steps = [
  async () => { await delegates(6, a[9]); for (const name of Object.keys(governors)) await propose(name, `# The first of ${name}`); await mine(3); },
  async () => {
    for (const name of ["against", "dynamic", "late", "v49", "v46", "overridable", "bravo"]) await vote(name, 3, 1);
    await vote("against", 2, 0);
    await vote("dynamic", 4, 0);
    await vote("super", 1, 1);
    await vote("overridable", 1, 1);
    await parts(2, 100n * u, 150n * u, 10n * u);
    await write(a[1], governors.modules, "castVote", proposals.modules[0].id, 1, 100n);
    await write(a[2], governors.modules, "castVote", proposals.modules[0].id, 0, 30n);
  },
  async () => {
    await delegates(9, a[9]);
    for (const t of Object.values(tokens)) await write(a[4], t, "transfer", a[9], 123_457n);
    await parts(2, 0n, 1n, 2n);
    await vote("fractional", 2, 1); // with the rest
    await vote("super", 2, 1);
    await write(a[7], governors.overridable, "castOverrideVote", proposals.overridable[0].id, 0, "not in my name");
    await write(a[9], governors.modules, "overrule", proposals.modules[0].id, 60n);
    for (const name of ["v49", "v46", "against"]) await write(a[0], governors[name], "setNumerator", 8n);
    await vote("dynamic", 2, 0);
  },
  async () => {
    await delegates(6, nobody);
    await point("quay.eth", 1);
    await vote("against", 4, 2);
    await vote("bravo", 2, 0);
    await mine(Number(await call(governors.late, "proposalDeadline", [proposals.late[0].id])) - await height() - 6);
    await vote("late", 2, 1); // puts off the end
  },
  async () => {
    await mine(90);
    await write(a[9], quay, "approve", governors.super.address, 0n);
    const executed = write(a[0], governors.super, "execute", ...payments, keccak256(toHex("# The first of super")));
    if (await executed.then(() => true, () => false)) throw new Error("a payment that is no longer allowed was executed");
    for (const name of ["v49", "v46"]) await write(a[0], governors[name], "setNumerator", 12n);
  },
  async () => { for (const name of Object.keys(governors)) await propose(name, `# The second of ${name}`); await mine(3); await vote("late", 1, 0, 1); },
  async () => { for (const t of Object.values(tokens)) await write(a[0], t, "mint", a[9], 77n); await mine(3700); },
];

// endBlock returns the block in which voting ends, or null if it is not mined yet.
async function endBlock(name, p, deadline) {
  const head = await height();
  if (name !== "fractional") return deadline <= head ? Number(deadline) : null;
  for (let n = p.created; n <= head; n++) if (BigInt((await header(n)).timestamp) >= deadline) return n;
  return null;
}
async function view(name, p) {
  const g = governors[name];
  const struct = name === "bravo" ? await call(g, "proposals", [p.id]) : null; // id, proposer, eta, start, end, for, against, abstain
  const deadline = struct ? struct[4] : await call(g, "proposalDeadline", [p.id]);
  const end = await endBlock(name, p, BigInt(deadline));
  const at = end === null ? "latest" : hex(end);
  const ways = { bravo: ["quorumVotes", []], dynamic: ["quorumVotes", [p.id]], modules: ["quorum", [p.id]] };
  const [method, args] = ways[name] ?? ["quorum", [await call(g, "proposalSnapshot", [p.id])]];
  const votes = struct ? [struct[6], struct[5], struct[7]] : await call(g, "proposalVotes", [p.id]);
  return {
    id: `${p.id}`, state: Number(await call(g, "state", [p.id])), votes: votes.map(String),
    endAt: end === null ? 0 : Number((await header(end)).timestamp), quorum: `${await call(g, method, args, at).catch(() => "")}`,
  };
}
async function views() {
  const told = [];
  for (const [name, g] of Object.entries(governors)) {
    const of = [];
    for (const p of proposals[name]) of.push(await view(name, p));
    told.push({ name, address: g.address, decimals: { fractional: 6, modules: 0 }[name] ?? 18, proposals: of });
  }
  const held = [];
  for (const [name, t] of Object.entries(tokens)) {
    const accounts = [];
    for (const voter of a) accounts.push({ voter, votes: `${await call(t, "getVotes", [voter])}`, delegate: await call(t, "delegates", [voter]) });
    held.push({ name, address: t.address, decimals: name === "tide" ? 6 : 18, supply: `${await call(t, "totalSupply")}`, accounts });
  }
  return { time: Number((await header("latest")).timestamp), governors: told, tokens: held, names: { registry: registry.address, accounts: a } };
}

await play(steps, views);
