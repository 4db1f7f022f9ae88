// The ways in which the official clients reach a node. PNYX_URL is its address, PNYX_TOKEN a
// token for all routes, and PNYX the program.
import { setTimeout } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as LegacyStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as LegacyHTTP } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

export const base = process.env.PNYX_URL;
export const token = process.env.PNYX_TOKEN;

const info = { name: "pnyx-e2e", version: "1" };
const endpoint = new URL("/mcp", base);
const sends = (key) => ({ requestInit: { headers: key ? { "x-service-api-token": key } : {} } });
const bearer = (key) => ({ requestInit: { headers: key ? { Authorization: `Bearer ${key}` } : {} } });
const pipe = (key) => ({
  command: process.env.PNYX, args: ["mcp", "--url", base], stderr: "inherit", env: { PATH: process.env.PATH, ...(key && { PNYX_TOKEN: key }) },
});
const modern = (mode) => new Client(info, { versionNegotiation: { mode } });

/** Each way returns a client and its transport; key is the token, "" for none. */
export const ways = {
  "sdk 1.x, over HTTP": (key) => [new LegacyClient(info), new LegacyHTTP(endpoint, sends(key))],
  "sdk 1.x, with a bearer token": (key) => [new LegacyClient(info), new LegacyHTTP(endpoint, bearer(key))],
  "sdk 1.x, through pnyx mcp": (key) => [new LegacyClient(info), new LegacyStdio(pipe(key))],
  "client 2.x, over HTTP": (key) => [modern("auto"), new StreamableHTTPClientTransport(endpoint, sends(key))],
  "client 2.x, of 2026-07-28 alone": (key) => [modern({ pin: "2026-07-28" }), new StreamableHTTPClientTransport(endpoint, sends(key))],
  "client 2.x, with a handshake": (key) => [new Client(info), new StreamableHTTPClientTransport(endpoint, sends(key))],
  "client 2.x, through pnyx mcp": (key) => [modern("auto"), new StdioClientTransport(pipe(key))],
};

/** Connects a client for the length of a test. */
export async function connect(t, way, key = token) {
  const [client, transport] = ways[way](key);
  await client.connect(transport);
  t.after(() => client.close());
  return client;
}

/** Tries again, for a minute, while a busy node has no answer. */
async function retry(ask, isBusy) {
  for (let tries = 60; ; tries--) {
    const answer = await ask();
    if (tries === 0 || !isBusy(answer)) return answer;
    await setTimeout(1000);
  }
}

/** Calls a tool. */
export const call = (client, name, args) =>
  retry(() => client.callTool({ name, arguments: args }), (result) => result.isError && result.structuredContent.error.code === "UNAVAILABLE");

/** Returns the envelope that the HTTP API answers a path with. */
export async function get(path) {
  const answer = await retry(() => fetch(base + path, { headers: { "x-service-api-token": token } }), ({ status }) => status === 503);
  const body = await answer.json();
  if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${JSON.stringify(body)}`);
  return body;
}
