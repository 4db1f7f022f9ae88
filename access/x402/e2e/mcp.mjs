// The official MCP clients pay for tools, with payments that the published x402 client makes.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyHTTP } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { payee } from "./chain.mjs";

const info = { name: "pnyx-x402-e2e", version: "1" };

/** Returns a wallet of its own, because each payer has a limit of its own. */
async function newWallet(chain) {
  const account = privateKeyToAccount(generatePrivateKey());
  await chain.mint(account.address);
  return new x402Client().register("eip155:84532", new ExactEvmScheme(account));
}

/** Signs a payment by the terms that an unpaid call is answered with. */
async function sign(wallet, unpaid, name) {
  assert.equal(unpaid.isError, true);
  const terms = JSON.parse(unpaid.content[0].text);
  assert.deepEqual(unpaid.structuredContent, terms, "clients read the terms in either place");
  assert.equal(terms.resource.url, `mcp://tool/${name}`);
  assert.ok(unpaid.content[1].text.length > 40, "and a model reads words");
  return wallet.createPaymentPayload(terms);
}

/** Buys calls of tools with both clients, and holds what they cost against the chain. */
export async function payOverMCP(t, { base, chain, dao }) {
  const endpoint = new URL("/mcp", base);
  for (const [era, client, transport] of [
    ["2025-11-25", new LegacyClient(info), new LegacyHTTP(endpoint)],
    ["2026-07-28", new Client(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } }), new StreamableHTTPClientTransport(endpoint)],
  ]) {
    await client.connect(transport);
    t.after(() => client.close());
    await client.listTools(); // results are held against the schemas from here
    let wallet = await newWallet(chain);
    const call = (name, args, payment) =>
      client.callTool({ name, arguments: args, ...(payment && { _meta: { "x402/payment": payment } }) });
    const buy = async (name, args) => sign(wallet, await call(name, args), name);
    const moved = async (action) => {
      const before = await chain.balance(payee);
      await action();
      return (await chain.balance(payee)) - before;
    };

    const args = { daoId: dao, timeline: era === "2025-11-25" ? "votes_cast" : "proposals_created" };
    let payment, first;
    await t.test(`${era}: a call costs what its routes cost, once`, async () => {
      assert.equal(await moved(async () => {
        payment = await buy("get_dao", args);
        first = await call("get_dao", args, payment);
      }), 5000n);
      assert.ok(!first.isError, first.content[0].text);
      assert.deepEqual(JSON.parse(first.content[0].text), first.structuredContent);
      assert.equal(first.structuredContent.data.timeline.metric, args.timeline);
      const receipt = first._meta["x402/payment-response"];
      assert.equal(receipt.success, true);
      assert.equal((await chain.client.getTransactionReceipt({ hash: receipt.transaction })).status, "success");
    });

    await t.test(`${era}: a replay gets the same answer and moves no money`, async () => {
      assert.equal(await moved(async () => {
        const again = await call("get_dao", args, payment);
        assert.deepEqual(again.structuredContent, first.structuredContent);
        assert.deepEqual(again._meta["x402/payment-response"], first._meta["x402/payment-response"]);
      }), 0n);
    });

    await t.test(`${era}: a payment buys nothing else`, async () => {
      assert.equal(await moved(async () => {
        for (const [name, other] of [["list_voters", { daoId: dao }], ["get_dao", { ...args, fromMonth: "2020-01" }]]) {
          assert.equal((await call(name, other, payment)).isError, true);
        }
      }), 0n);
    });

    await t.test(`${era}: bad arguments and what does not exist cost nothing`, async () => {
      const fresh = await buy("list_voters", { daoId: dao });
      assert.equal(await moved(async () => {
        const bad = await call("list_voters", { daoId: dao, limit: 0 }, fresh);
        assert.equal(bad.structuredContent.error.code, "VALIDATION_ERROR");
        const none = { proposalKey: "p1_AAAAAAAAAAAAAAAAAAAAAA" };
        const unknown = await call("list_ballots", none, await buy("list_ballots", none));
        assert.equal(unknown.structuredContent.error.code, "NOT_FOUND");
      }), 0n);
    });

    await t.test(`${era}: a tool of several routes costs their sum`, async () => {
      wallet = await newWallet(chain);
      const search = { daoId: dao, limit: 1 };
      const found = await call("find_proposals", search, await buy("find_proposals", search));
      const bundle = { proposalKey: found.structuredContent.data[0].proposalKey, include: era === "2025-11-25" ? ["votes"] : ["text", "votes", "evidence"] };
      assert.equal(await moved(async () => {
        const bought = await call("get_proposal", bundle, await buy("get_proposal", bundle));
        assert.ok(bought.structuredContent.data.votes, bought.content[0].text);
      }), bundle.include.length === 1 ? 10000n : 15000n);
    });
  }
}
