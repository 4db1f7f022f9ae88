// Starts an EVM on loopback at a port, and speaks with it.
import { spawn } from "node:child_process";
import path from "node:path";
import readline from "node:readline";
import { decodeFunctionResult, encodeDeployData, encodeFunctionData } from "viem";

const [port, chain] = process.argv.slice(2);
const node = spawn(path.join(import.meta.dirname, "node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"),
  ["--port", port, "--chain-id", chain, "--no-mining", "--timestamp", "1767225600", "--slots-in-an-epoch", "4", "--gas-limit", "60000000",
    "--max-persisted-states", "10000", "--silent"],
  { stdio: "ignore" });
process.on("exit", () => node.kill());

export async function rpc(method, ...params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await fetch(`http://127.0.0.1:${port}`, { method: "POST", headers: { "content-type": "application/json" }, body });
  const { result, error } = await answer.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}
export const hex = (n) => `0x${BigInt(n).toString(16)}`;
export const mine = (blocks = 1) => rpc("anvil_mine", hex(blocks));
export const header = (n) => rpc("eth_getBlockByNumber", typeof n === "string" ? n : hex(n), false);
export const height = async () => Number(await rpc("eth_blockNumber"));

async function send(from, to, data) {
  const hash = await rpc("eth_sendTransaction", { from, to, data, gas: hex(12_000_000) });
  await mine();
  const receipt = await rpc("eth_getTransactionReceipt", hash);
  if (receipt.status !== "0x1") throw new Error(`${hash} to ${to} reverted: ${data.slice(0, 10)}`);
  return receipt;
}
export const deploy = async ({ abi, bytecode }, ...args) =>
  ({ abi, address: (await send(a[0], undefined, encodeDeployData({ abi, bytecode, args }))).contractAddress });
export const write = (from, c, functionName, ...args) => send(from, c.address, encodeFunctionData({ abi: c.abi, functionName, args }));
export async function call(c, functionName, args = [], block = "latest") {
  const data = await rpc("eth_call", { to: c.address, data: encodeFunctionData({ abi: c.abi, functionName, args }) }, block);
  return decodeFunctionResult({ abi: c.abi, functionName, data });
}

for (let left = 100; ; left--) {
  try { await rpc("eth_chainId"); break; } catch (error) { if (!left) throw error; await new Promise((r) => setTimeout(r, 100)); }
}
await rpc("anvil_setBlockTimestampInterval", 12);
export const a = await rpc("eth_accounts");

// play plays a step for each line of the input, and prints views before the first and after each.
export async function play(steps, views) {
  console.log(JSON.stringify({ ...(await views()), steps: steps.length }));
  for await (const _ of readline.createInterface({ input: process.stdin })) {
    await steps.shift()();
    console.log(JSON.stringify(await views()));
  }
  process.exit();
}
