// An agent on the protocol's own library: it asks for permission, copies a.txt to b.txt with its client's file
// system, and counts its bytes in its client's terminal.
import * as acp from "./acp.js";
import { Readable, Writable } from "node:stream";

class Agent {
  constructor(client) {
    this.client = client;
  }
  async initialize({ clientCapabilities }) {
    this.offered = clientCapabilities;
    return { protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: { loadSession: false } };
  }
  async authenticate() {}
  async newSession({ cwd }) {
    this.cwd = cwd;
    return { sessionId: "only" };
  }
  async prompt({ sessionId, prompt }) {
    const say = (text) =>
      this.client.sessionUpdate({
        sessionId,
        update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
      });
    const { outcome } = await this.client.requestPermission({
      sessionId,
      toolCall: { toolCallId: "1", title: "Run make", kind: "execute" },
      options: [
        { optionId: "y", kind: "allow_once", name: "Yes" },
        { optionId: "n", kind: "reject_once", name: "No" },
      ],
    });
    if (outcome.optionId !== "y") {
      await say("denied");
      return { stopReason: "end_turn" };
    }
    const { content } = await this.client.readTextFile({ sessionId, path: this.cwd + "/a.txt" });
    await this.client.writeTextFile({ sessionId, path: this.cwd + "/b.txt", content: content.toUpperCase() });
    if (!this.offered.terminal) {
      await say(prompt[0].text + ": copied");
      return { stopReason: "end_turn" };
    }
    const terminal = await this.client.createTerminal({ sessionId, command: "wc", args: ["-c", "b.txt"], cwd: this.cwd });
    const { exitCode } = await terminal.waitForExit();
    const { output } = await terminal.currentOutput();
    await terminal.release();
    await say(`${prompt[0].text}: ${output.trim()} (${exitCode})`);
    return { stopReason: "end_turn" };
  }
  async cancel() {}
}

new acp.AgentSideConnection(
  (client) => new Agent(client),
  acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)),
);
