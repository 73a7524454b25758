// A client with the TypeScript SDK: it gets a 401, sends the person to the login, and calls a tool. The test
// plays the browser: it reads the URL from stdout and writes the callback to stdin.
import { createInterface } from "node:readline/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";

const kept = {};
const provider = {
  redirectUrl: "http://127.0.0.1:7777/callback",
  clientMetadata: { client_name: "TypeScript", redirect_uris: ["http://127.0.0.1:7777/callback"] },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  redirectToAuthorization: (url) => console.log(String(url)),
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
};
const open = () => new StreamableHTTPClientTransport(new URL(process.env.MCP_TOOLS_URL), { authProvider: provider });

const first = open();
try {
  await new Client({ name: "example", version: "1.0.0" }).connect(first);
  throw new Error("connected without a login");
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
const lines = createInterface({ input: process.stdin });
const callback = new URL((await lines[Symbol.asyncIterator]().next()).value);
await first.finishAuth(callback.searchParams.get("code"));

const client = new Client({ name: "example", version: "1.0.0" });
kept.tokens.access_token = "mcpt_expired"; // as if an hour had passed: the SDK refreshes
await client.connect(open());
const result = await client.callTool({ name: "read_file", arguments: { path: "README.md" } });
console.log(result.content[0].text);
await client.close();
lines.close();
