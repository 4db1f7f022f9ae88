// The published client pays Pnyx: PNYX is the binary, and it serves the demonstration data.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import test from "node:test";
import { ExactEvmScheme } from "@x402/evm";
import { extractDiscoveryInfo, validateDiscoveryExtension, validateDiscoveryExtensionSpec } from "@x402/extensions/bazaar";
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { payee, payer, run, startChain, startFacilitator } from "./chain.mjs";
import { payOverMCP } from "./mcp.mjs";

const binary = resolve(process.env.PNYX ?? "../../../bin/pnyx");

async function freePort() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function startPnyx(t, chain, facilitator, settings = {}) {
  const data = mkdtempSync(join(tmpdir(), "pnyx-x402-"));
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const pnyx = run(t, binary, ["serve", "--demo"], {
    env: {
      ...process.env,
      PNYX_DATA: data, PNYX_LISTEN: `127.0.0.1:${port}`, PNYX_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
      PNYX_PUBLIC_URL: base, X402_PAY_TO: payee, X402_FACILITATOR_URL: facilitator.url, X402_RPC_URL: chain.url,
      X402_NETWORK: "eip155:84532", X402_ASSET: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", X402_ASSET_NAME: "USDC",
      ...settings,
    },
  });
  t.after(() => rmSync(data, { recursive: true, force: true, maxRetries: 5 }));
  await pnyx.says(/Pnyx answers on/);
  return { base, data };
}

test("the published client pays for answers", async (t) => {
  const chain = await startChain(t, await freePort());
  const facilitator = await startFacilitator(t, chain);
  const { base } = await startPnyx(t, chain, facilitator);
  const paying = wrapFetchWithPaymentFromConfig(fetch, {
    schemes: [{ network: "eip155:84532", client: new ExactEvmScheme(payer) }],
  });
  const daos = await (await fetch(`${base}/v2/daos?limit=1`)).json();
  const dao = daos.data[0].daoId;

  /** Buys a path, and holds what it cost against the chain. */
  async function buys(path, price) {
    const before = { payer: await chain.balance(payer.address), payee: await chain.balance(payee) };
    const answer = await paying(base + path);
    const body = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(body));
    assert.ok(body.data, "the answer has data");
    assert.equal(answer.headers.get("cache-control"), "private, no-store");
    assert.equal(before.payer - (await chain.balance(payer.address)), price);
    assert.equal((await chain.balance(payee)) - before.payee, price);
    const receipt = decodePaymentResponseHeader(answer.headers.get("payment-response"));
    assert.equal(receipt.success, true);
    const transaction = await chain.client.getTransactionReceipt({ hash: receipt.transaction });
    assert.equal(transaction.status, "success");
  }

  await t.test("a plus route", () => buys(`/v2/daos/${dao}/timeline?metric=votes_cast`, 5000n));

  await t.test("a standard route", async (t) => {
    const path = `/v2/proposals?daoId=${dao}&limit=2`;
    if ((await fetch(base + path)).status === 404) return t.skip("there is no standard route yet");
    await buys(path, 1000n);
  });

  await t.test("a replay gets the same answer and moves no money", async () => {
    let header;
    const spying = wrapFetchWithPaymentFromConfig(
      async (input, init) => {
        const request = new Request(input, init);
        header = request.headers.get("payment-signature") ?? header;
        return fetch(request);
      },
      { schemes: [{ network: "eip155:84532", client: new ExactEvmScheme(payer) }] },
    );
    const path = `${base}/v2/daos/${dao}/timeline?metric=proposals_created`;
    const first = await (await spying(path)).text();
    const before = await chain.balance(payee);
    const again = await fetch(path, { headers: { "PAYMENT-SIGNATURE": header } });
    assert.equal(again.status, 200);
    assert.equal(await again.text(), first);
    const elsewhere = await fetch(`${base}/v2/daos/${dao}/voters`, { headers: { "PAYMENT-SIGNATURE": header } });
    assert.equal(elsewhere.status, 402);
    assert.equal(await chain.balance(payee), before);
  });

  await t.test("through the client that the node serves", async (t) => {
    const compiler = "../../../reference/npm/node_modules/typescript/lib/typescript.js";
    const { default: typescript } = await import(compiler).catch(() => ({}));
    if (!typescript) return t.skip("no TypeScript compiler: make npm");
    const { outputText } = typescript.transpileModule(await (await fetch(`${base}/clients/pnyx.ts`)).text(), {
      compilerOptions: { module: typescript.ModuleKind.ESNext, target: typescript.ScriptTarget.ES2022 },
    });
    const { Pnyx } = await import(`data:text/javascript,${encodeURIComponent(outputText)}`);
    const before = await chain.balance(payee);
    const keys = [];
    for await (const { proposalKey } of new Pnyx(base, { fetch: paying }).proposals({ daoId: dao })) keys.push(proposalKey);
    assert.ok(keys.length > 0, "there are proposals");
    assert.equal((await chain.balance(payee)) - before, 1000n);
  });

  await t.test("over MCP", (t) => payOverMCP(t, { base, chain, dao }));

  await t.test("what does not exist costs nothing", async () => {
    const before = await chain.balance(payee);
    const answer = await paying(`${base}/v2/proposals/p1_AAAAAAAAAAAAAAAAAAAAAA`);
    assert.equal(answer.status, 404);
    assert.equal(await chain.balance(payee), before);
  });
});

test("indexes of paid resources can list every paid route", async (t) => {
  const chain = await startChain(t, await freePort());
  const facilitator = await startFacilitator(t, chain);
  const { base } = await startPnyx(t, chain, facilitator, { X402_BAZAAR: "on" });
  const { data: daos } = await (await fetch(`${base}/v2/daos?hasVoteData=true&limit=1`)).json();
  const dao = daos[0].daoId;
  const { data: pricing } = await (await fetch(`${base}/v2/meta/pricing`)).json();
  const values = {
    daoId: dao, proposalKey: "p1_AAAAAAAAAAAAAAAAAAAAAA", topicKey: "t1_AAAAAAAAAAAAAAAAAAAAAA", voterIdentity: payer.address,
  };
  const window = "?from=2026-01-01&to=2026-02-01";
  const queries = {
    "daos.timeline": "?metric=votes_cast", "events.list": window, "proposals.resolve": "?title=a", "signals.list": window,
  };
  const terms = (answer) => JSON.parse(Buffer.from(answer.headers.get("payment-required"), "base64"));

  for (const { routeId, path } of pricing.routes.filter((route) => route.paid)) {
    await t.test(routeId, async () => {
      const bare = path.replace(/:(\w+)/g, (_, name) => values[name]);
      const query = queries[routeId] ?? "";
      const first = await fetch(base + bare + query);
      assert.equal(first.status, 402, await first.text());
      const { length } = first.headers.get("payment-required");
      assert.ok(length < 4096, `the terms take ${length} bytes`);
      const { bazaar } = terms(first).extensions;
      assert.deepEqual(validateDiscoveryExtensionSpec(bazaar), { valid: true });
      assert.deepEqual(validateDiscoveryExtension(bazaar), { valid: true });
      const { pathParams = {}, queryParams = {} } = bazaar.info.input;
      const described = (bazaar.routeTemplate ?? path).replace(/:(\w+)/g, (_, name) => pathParams[name]);
      const again = await fetch(`${base}${described}?${new URLSearchParams(queryParams)}`);
      assert.equal(again.status, 402, "the request that is described is one that can be paid for");
    });
  }

  await t.test("from a payment of the published client", async () => {
    const before = await chain.balance(payee);
    let sent;
    const paying = wrapFetchWithPaymentFromConfig(
      (input, init) => {
        const request = new Request(input, init);
        sent = request.headers.get("payment-signature") ?? sent;
        return fetch(request);
      },
      { schemes: [{ network: "eip155:84532", client: new ExactEvmScheme(payer) }] },
    );
    const answer = await paying(`${base}/v2/daos/${dao}/voters?limit=2`);
    assert.equal(answer.status, 200, await answer.text());
    assert.equal((await chain.balance(payee)) - before, 5000n);
    assert.ok(JSON.parse(Buffer.from(sent, "base64")).extensions.bazaar, "the client sends the extension back");
    assert.ok(sent.length < 4096, `the payment takes ${sent.length} bytes`);
    const { paymentPayload, paymentRequirements } = facilitator.seen.last;
    const found = extractDiscoveryInfo(paymentPayload, paymentRequirements);
    assert.equal(found.resourceUrl, `${base}/v2/daos/:daoId/voters`);
    assert.equal(found.method, "GET");
    assert.deepEqual(found.discoveryInfo.input.pathParams, { daoId: dao });
  });
});
