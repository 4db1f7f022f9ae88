// Deploys escrows of votes on an EVM, and plays a block of their lives for each line of the input, an hour
// apart. After each it prints what the contracts themselves say: of power that falls without a log, as of the
// final block, or of a later one with a log of the delegate.
import { encodeEventTopics } from "viem";
import { compiled } from "./compile.mjs";
import { a, call, deploy, header, hex, mine, play, rpc, write } from "./node.mjs";

const art = compiled();
await rpc("anvil_setBlockTimestampInterval", 3600);
const falling = await deploy(art.Escrow), standing = await deploy(art.Escrow), byToken = await deploy(art.TokenEscrow);
const governor = await deploy(art.Modules);
const e18 = 10n ** 18n, day = 86_400n;
const now = async () => BigInt((await header("latest")).timestamp);
const lock = async (who, value, days) => write(a[0], falling, "lock", a[who], value, await now() + days * day);
const keep = (who, value) => write(a[0], standing, "lock", a[who], value, 0n);

for (const who of [0, 1, 2, 3]) {
  await lock(who, 1_000n * e18 + BigInt(who), 100n * BigInt(who + 1));
  await keep(who, 500n * e18 + BigInt(who));
}
await write(a[4], byToken, "delegate", 1n, 2n);
// More small locks than a token is asked for: the smallest is not.
const first = 0x1000, many = 40;
for (const batch of [0, 1, 2]) await write(a[0], falling, "lockMany", first + batch * many, many, await now() + 900n * day);
await mine(10); // until these are final

let kept;
const steps = [
  () => lock(4, 3n * e18, 2n),
  () => keep(4, 7n),
  () => write(a[1], falling, "delegate", a[2]),
  () => write(a[1], standing, "delegate", a[5]),
  async () => { kept = await rpc("evm_snapshot"); await lock(0, 2_000n * e18, 300n); },
  () => write(a[2], falling, "delegate", a[0]),
  () => keep(0, 1n),
  async () => { // another branch, in which none of the three happened
    await rpc("evm_revert", kept);
    await write(a[3], falling, "delegate", a[6]);
    await keep(2, 11n * e18 + 1n);
    await write(a[3], standing, "delegate", a[2]);
    await mine();
  },
  () => lock(0, 50n * e18 + 5n, 1_000n),
  () => mine(9),
  () => mine(48), // until a lock has ended
  () => write(a[1], falling, "delegate", a[1]),
];
const left = steps.length;

// lastLog returns the newest block with a log about the power of a delegate; 0 for none.
async function lastLog(escrow, delegate) {
  const topics = encodeEventTopics({ abi: escrow.abi, eventName: "DelegateVotesChanged", args: { delegate } });
  const logs = await rpc("eth_getLogs", { address: escrow.address, topics, fromBlock: "0x0", toBlock: "latest" });
  return logs.length ? Number(logs.at(-1).blockNumber) : 0;
}
async function views() {
  const final = Number((await header("finalized")).number);
  const of = async (name, escrow, block) => {
    const accounts = [];
    for (const voter of a) {
      const votes = await call(escrow, "getVotes", [voter], await block(voter));
      accounts.push({ voter, votes: `${votes}`, delegate: await call(escrow, "delegates", [voter]) });
    }
    return { name, address: escrow.address, decimals: 18, supply: "0", accounts };
  };
  const tokens = [
    await of("falling", falling, async (voter) => hex(Math.max(final, await lastLog(falling, voter)))),
    await of("standing", standing, () => "latest"),
    { name: "by token", address: byToken.address, decimals: 18, supply: "0", accounts: [] },
  ];
  if (left - steps.length > 1) { // by then the answers were not twice what the logs come to
    const least = `0x${first.toString(16).padStart(40, "0")}`;
    tokens[0].accounts.push({ voter: least, votes: "", delegate: least });
    tokens[2].accounts.push({ voter: a[4], votes: "", delegate: "" });
  }
  return { time: Number(await now()), governors: [{ name: "modules", address: governor.address, decimals: 0, proposals: [] }], tokens };
}

await play(steps, views);
