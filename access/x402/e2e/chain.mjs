// The chain, and the facilitator before it: all of it the published packages.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { once } from "node:events";
import { x402Facilitator } from "@x402/core/facilitator";
import { toFacilitatorEvmSigner } from "@x402/evm";
import { registerExactEvmScheme } from "@x402/evm/exact/facilitator";
import { createTestClient, createWalletClient, http, parseAbi, publicActions, walletActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { baseSepolia } from "viem/chains";

const require = createRequire(import.meta.url);
const here = new URL(".", import.meta.url).pathname;

export const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
export const TOKEN = parseAbi([
  "function balanceOf(address) view returns (uint256)",
  "function mint(address,uint256)",
]);

// Well-known development keys, worth nothing elsewhere.
export const payer = privateKeyToAccount("0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6");
const operator = privateKeyToAccount("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");
export const payee = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

/** Starts a process, and ends it with the test. */
export function run(t, command, args, options = {}) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  let output = "";
  const listeners = new Set();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => {
      output += text;
      for (const listener of listeners) listener();
    });
  }
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  /** Resolves once the output matches. */
  const says = (pattern) =>
    new Promise((resolve, reject) => {
      const look = () => pattern.test(output) && (listeners.delete(look), resolve(output.match(pattern)));
      listeners.add(look);
      child.on("exit", () => reject(new Error(`${command} ended: ${output}`)));
      look();
    });
  return { child, says };
}

/** Starts a chain with the token at the address of the real one. */
export async function startChain(t, port) {
  const url = `http://127.0.0.1:${port}`;
  const node = run(t, process.execPath, [require.resolve("hardhat/internal/cli/cli.js"), "node", "--port", `${port}`], {
    cwd: here,
    env: { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: "true" },
  });
  await node.says(/Started HTTP/);
  const client = createTestClient({ mode: "hardhat", chain: baseSepolia, transport: http(url), account: operator })
    .extend(publicActions)
    .extend(walletActions);
  await client.setCode({ address: USDC, bytecode: compile() });
  const mint = async (who) => {
    const hash = await client.writeContract({ address: USDC, abi: TOKEN, functionName: "mint", args: [who, 10_000_000n] });
    await client.waitForTransactionReceipt({ hash });
  };
  await mint(payer.address);
  return { url, client, mint, balance: (who) => client.readContract({ address: USDC, abi: TOKEN, functionName: "balanceOf", args: [who] }) };
}

function compile() {
  const solc = require("solc");
  const input = {
    language: "Solidity",
    sources: { "Token.sol": { content: readFileSync(here + "Token.sol", "utf8") } },
    settings: { outputSelection: { "*": { "*": ["evm.deployedBytecode.object"] } }, optimizer: { enabled: true }, viaIR: true },
  };
  const result = JSON.parse(solc.compile(JSON.stringify(input)));
  const wrong = (result.errors ?? []).filter((e) => e.severity === "error");
  if (wrong.length > 0) throw new Error(wrong.map((e) => e.formattedMessage).join("\n"));
  return "0x" + result.contracts["Token.sol"].Token.evm.deployedBytecode.object;
}

/** Starts a facilitator with one wallet, whose transactions go one after another. */
export async function startFacilitator(t, chain) {
  const wallet = createWalletClient({ account: operator, chain: baseSepolia, transport: http(chain.url) }).extend(publicActions);
  const facilitator = new x402Facilitator();
  registerExactEvmScheme(facilitator, {
    signer: toFacilitatorEvmSigner({ ...wallet, address: operator.address }),
    networks: "eip155:84532",
  });
  let turn = Promise.resolve();
  const calls = {
    verify: (body) => facilitator.verify(body.paymentPayload, body.paymentRequirements),
    settle: (body) => (turn = turn.catch(() => {}).then(() => facilitator.settle(body.paymentPayload, body.paymentRequirements))),
  };
  const seen = { verify: 0, settle: 0, last: undefined };
  const server = createServer(async (request, response) => {
    const name = request.url.slice(1);
    response.setHeader("Content-Type", "application/json");
    if (name === "supported") return response.end(JSON.stringify(facilitator.getSupported()));
    let text = "";
    for await (const part of request) text += part;
    try {
      seen[name]++;
      seen.last = JSON.parse(text);
      response.end(JSON.stringify(await calls[name](seen.last)));
    } catch (error) {
      response.statusCode = 500;
      response.end(JSON.stringify({ error: String(error) }));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, seen };
}
