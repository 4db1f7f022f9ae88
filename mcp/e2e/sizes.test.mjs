// What a model reads is bounded, in tokens of o200k_base: the list of tools, the instructions,
// and the results of all tools over everything that the node has.
import assert from "node:assert/strict";
import test from "node:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { call, connect, get } from "./connect.mjs";

const way = "client 2.x, of 2026-07-28 alone";

/** Yields the rows of a list of the HTTP API. */
async function* rows(path) {
  for (let cursor = ""; ; ) {
    const { data, meta } = await get(`${path}?limit=100${cursor && `&cursor=${cursor}`}`);
    yield* data;
    if (!(cursor = meta.page.nextCursor)) return;
  }
}

test("the list of tools and the instructions are short", async (t) => {
  const client = await connect(t, way);
  const { tools } = await client.listTools();
  // A model is shown name, description and arguments; most hosts keep the rest to themselves.
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const sizes = { all: countTokens(JSON.stringify(shown)), instructions: countTokens(client.getInstructions()) };
  for (const tool of shown) sizes[tool.name] = countTokens(JSON.stringify(tool));
  t.diagnostic(JSON.stringify({ ...sizes, "with output schemas": countTokens(JSON.stringify(tools)) }));
  assert.ok(sizes.all <= 4000, `all tools: ${sizes.all}`);
  assert.ok(sizes.instructions <= 200, `instructions: ${sizes.instructions}`);
  for (const { name } of shown) assert.ok(sizes[name] <= 600, `${name}: ${sizes[name]}`);
});

test("no result is longer than clients take", async (t) => {
  const client = await connect(t, way);
  const largest = {};
  const wrong = [];
  /** Calls a tool as a model would first, and asking for as much as it gives. */
  async function measure(name, args, most) {
    for (const [kind, more, bound] of [["default", {}, 8000], ["most", most, 25000]]) {
      const { structuredContent, content, isError } = await call(client, name, { ...args, ...more });
      assert.ok(!isError, content[0].text);
      const tokens = countTokens(content[0].text);
      const entry = ((largest[name] ??= {})[kind] ??= { tokens: 0, bytes: 0 });
      if (tokens > entry.tokens) Object.assign(entry, { tokens, rows: structuredContent.data.length });
      entry.bytes = Math.max(entry.bytes, Buffer.byteLength(JSON.stringify(structuredContent)));
      if (tokens > bound) wrong.push(`${name} ${JSON.stringify({ ...args, ...more })}: ${tokens} tokens, at most ${bound}`);
    }
  }
  const full = { detail: "full", limit: 100 };
  await measure("find_daos", {}, { limit: 100 });
  await measure("get_status", {}, {});
  await measure("find_proposals", {}, full);
  await measure("find_topics", {}, { detail: "full", limit: 50 });
  await measure("resolve_proposal", { title: "the" }, { limit: 20 });
  for await (const { daoId } of rows("/v2/daos")) {
    await measure("get_dao", { daoId }, { timeline: "votes_cast" });
    await measure("get_status", { daoId }, {});
    await measure("find_proposals", { daoId }, full);
    await measure("list_voters", { daoId }, full);
    await measure("find_topics", { daoId }, { detail: "full", limit: 50 });
    const { data: voters } = await get(`/v2/daos/${daoId}/voters?limit=20`);
    for (const { voterIdentity } of voters) await measure("get_voter", { voterIdentity }, { limit: 100 });
  }
  for await (const { proposalKey } of rows("/v2/proposals")) {
    await measure("get_proposal", { proposalKey }, { include: ["text", "votes", "evidence"], textLimit: 20000 });
    await measure("list_ballots", { proposalKey }, full);
  }
  for await (const { topicKey } of rows("/v2/forum-topics")) await measure("get_topic", { topicKey }, { textLimit: 20000 });
  const day = 86400e3;
  for (let to = Date.now() + day; to > Date.now() - 365 * day; to -= 90 * day) {
    const window = { from: new Date(to - 90 * day).toISOString(), to: new Date(to).toISOString() };
    await measure("list_events", window, full);
    await measure("list_signals", window, { detail: "full", limit: 50 });
  }
  t.diagnostic(JSON.stringify(largest, null, 1));
  for (const [name, { most }] of Object.entries(largest)) if (most.bytes > 50000) wrong.push(`${name}: ${most.bytes} bytes, at most 50000`);
  assert.deepEqual(wrong.slice(0, 20), []);
});
