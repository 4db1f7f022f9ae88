// The official clients list and call every tool, with good input and with bad.
import assert from "node:assert/strict";
import test from "node:test";
import { base, call, connect, get, ways } from "./connect.mjs";

const names = [
  "find_daos", "get_dao", "find_proposals", "resolve_proposal", "get_proposal", "list_ballots", "list_voters", "get_voter",
  "list_delegates", "list_delegations", "list_open_votes",
  "find_topics", "get_topic", "list_signals", "list_events", "list_changes", "get_status",
];
const free = ["find_daos", "get_dao", "get_status"];

const { daoId } = (await get("/v2/daos?hasVoteData=true&hasForumData=true")).data[0];
const { proposalKey } = (await get(`/v2/proposals?daoId=${daoId}&lifecycleStatus=closed`)).data[0];
const { voterIdentity } = (await get(`/v2/daos/${daoId}/voters`)).data[0];
const { topicKey } = (await get(`/v2/forum-topics?daoId=${daoId}`)).data[0];
const unknownKey = proposalKey.slice(0, 3) + "A".repeat(proposalKey.length - 3);

/** Good input, and the route that has the data of some of it. */
const good = [
  ["find_daos", { name: daoId.slice(0, 4).toUpperCase() }],
  ["get_dao", { daoId }, (data) => data.dao, `/v2/daos/${daoId}`],
  ["get_dao", { daoId, timeline: "votes_cast" }, (data) => data.timeline, `/v2/daos/${daoId}/timeline?metric=votes_cast`],
  ["find_proposals", { daoId, lifecycleStatus: ["closed", "active"], limit: 3, detail: "full" }, (data) => data, `/v2/proposals?daoId=${daoId}&lifecycleStatus=closed,active&limit=3`],
  ["resolve_proposal", { title: "grant" }, (data) => data, "/v2/proposals/resolve?title=grant&limit=5"],
  ["get_proposal", { proposalKey, include: ["text", "votes", "evidence"] }, (data) => data.votes, `/v2/proposals/${proposalKey}/votes/summary`],
  ["get_proposal", { proposalKey, include: [] }],
  ["list_ballots", { proposalKey, limit: 4, detail: "full" }, (data) => data, `/v2/proposals/${proposalKey}/votes?limit=4`],
  ["list_voters", { daoId, limit: 5, detail: "full" }, (data) => data, `/v2/daos/${daoId}/voters?limit=5`],
  ["get_voter", { voterIdentity }, (data) => data.voter, `/v2/voters/${encodeURIComponent(voterIdentity)}`],
  ["list_delegates", { daoId, limit: 2, detail: "full" }, (data) => data, `/v2/daos/${daoId}/delegates?limit=2`],
  ["list_delegations", { voterIdentity }],
  ["list_open_votes", { voterIdentity }],
  ["find_topics", { daoId, sort: "repliesDesc", limit: 2, detail: "full" }, (data) => data, `/v2/forum-topics?daoId=${daoId}&sort=repliesDesc&limit=2`],
  ["get_topic", { topicKey, textLimit: 10 }],
  ["list_signals", { from: "2020-01-01", to: "2020-01-02" }],
  ["list_signals", {}],
  ["list_events", { daoId }],
  ["list_changes", { kind: ["proposal", "dao"] }, (data) => data, "/v2/changes?kind=proposal,dao"],
  ["get_status", { daoId }],
];

/** Bad input, and the code that names what is wrong; part of the text, too. */
const bad = [
  ...names.map((name) => [name, { nonsense: 1 }, "VALIDATION_ERROR", "nonsense"]),
  ["find_proposals", { limit: 101 }, "VALIDATION_ERROR", "limit"],
  ["find_proposals", { limit: "many" }, "VALIDATION_ERROR", "limit"],
  ["find_proposals", { lifecycleStatus: ["asleep"] }, "VALIDATION_ERROR", "active, pending, closed"],
  ["find_proposals", { cursor: "x" }, "VALIDATION_ERROR", "cursor"],
  ["find_proposals", { daoId: { $ne: null } }, "VALIDATION_ERROR", "daoId"],
  ["get_proposal", {}, "VALIDATION_ERROR", "proposalKey"],
  ["get_proposal", { proposalKey, include: ["everything"] }, "VALIDATION_ERROR", "include"],
  ["resolve_proposal", { title: "grant", url: "https://x" }, "VALIDATION_ERROR", "url"],
  ["list_events", { from: "2020-01-01", to: "2021-01-01" }, "VALIDATION_ERROR", "90 days"],
  ["get_dao", { daoId: "no-such-dao" }, "NOT_FOUND", ""],
  ["get_proposal", { proposalKey: unknownKey }, "NOT_FOUND", ""],
  ["list_ballots", { proposalKey: unknownKey }, "NOT_FOUND", ""],
];

/** Holds a result against what every result has. */
function check(result) {
  assert.equal(result.content[0].type, "text");
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, "the text is the structure");
  assert.ok(result.structuredContent.meta.requestId);
  assert.ok(!result.isError, result.content[0].text);
  return result.structuredContent.data;
}

for (const way of Object.keys(ways)) {
  test(way, async (t) => {
    const client = await connect(t, way);

    await t.test("says what it is", () => {
      assert.equal(client.getServerVersion().name, "pnyx");
      assert.match(client.getInstructions(), /find_daos/);
    });

    await t.test("lists the tools", async () => {
      const { tools } = await client.listTools();
      assert.deepEqual(tools.map((tool) => tool.name).sort(), [...names].sort());
      for (const tool of tools) {
        assert.ok(tool.description.length >= 40 && tool.description.length <= 1200, tool.name);
        assert.deepEqual(
          [tool.annotations.readOnlyHint, tool.annotations.destructiveHint, tool.inputSchema.additionalProperties],
          [true, false, false], tool.name,
        );
      }
    });

    for (const [name, args, part, path] of good) {
      await t.test(`${name} ${JSON.stringify(args)}`, async () => {
        const data = check(await call(client, name, args));
        if (path) assert.deepEqual(part(data), (await get(path)).data, "the values are those of HTTP");
      });
    }

    // After listTools, both clients hold every result against the tool's outputSchema.
    for (const [name, args, code, text] of bad) {
      await t.test(`bad: ${name} ${JSON.stringify(args)}`, async () => {
        const result = await call(client, name, args);
        assert.equal(result.isError, true);
        assert.equal(result.structuredContent.error.code, code);
        assert.ok(result.content[0].text.startsWith(code) && result.content[0].text.includes(text), result.content[0].text);
      });
    }

    await t.test("an unknown tool is an error of the protocol", () =>
      assert.rejects(client.callTool({ name: "drop_tables", arguments: {} }), { code: -32602 }));

    await t.test("a list goes on at its cursor", async () => {
      const page = async (args) => (await call(client, "list_voters", { daoId, limit: 2, ...args })).structuredContent;
      const first = await page({});
      const second = await page({ cursor: first.meta.page.nextCursor });
      assert.deepEqual([...first.data, ...second.data].map((row) => row.rank), [1, 2, 3, 4]);
    });

    await t.test("prompts and resources", async () => {
      const { prompts } = await client.listPrompts();
      for (const { name, arguments: args } of prompts) {
        const given = Object.fromEntries(args.filter((arg) => arg.required).map((arg) => [arg.name, "some-value"]));
        const { messages } = await client.getPrompt({ name, arguments: given });
        assert.ok(messages[0].content.text.includes("some-value"), name);
      }
      const { resources } = await client.listResources();
      for (const { uri } of resources) assert.ok((await client.readResource({ uri })).contents[0].text.length > 100, uri);
      await assert.rejects(client.readResource({ uri: "pnyx://größe" }), { code: -32602 });
    });

    await t.test("without a token, free tools work and others say why not", async (t) => {
      const nobody = await connect(t, way, "");
      await nobody.listTools();
      for (const [name, args] of good.slice(0, 2)) check(await call(nobody, name, args));
      for (const name of names.filter((name) => !free.includes(name))) {
        const [, args] = good.find(([tool]) => tool === name);
        const result = await call(nobody, name, args);
        assert.equal(result.isError, true, name);
        assert.equal(result.structuredContent.error.code, "PAYMENT_REQUIRED", name);
      }
    });

    await t.test("with a wrong token, too", async (t) => {
      const stranger = await connect(t, way, "pnyx_wrong");
      const result = await call(stranger, "list_voters", { daoId });
      assert.equal(result.structuredContent.error.code, "UNAUTHORIZED");
    });
  });
}

test("a node keeps nothing between requests", async () => {
  const post = async (body, headers = {}) => {
    const answer = await fetch(new URL("/mcp", base), {
      method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }),
      headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
    });
    assert.equal(answer.headers.get("mcp-session-id"), null);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    return answer.json();
  };
  // No initialize came before, and a session of another server changes nothing.
  const { result } = await post({ method: "tools/call", params: { name: "get_dao", arguments: { daoId } } }, { "Mcp-Session-Id": "x" });
  assert.equal(result.structuredContent.data.dao.daoId, daoId);
});
