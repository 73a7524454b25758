#!/usr/bin/env node
// Starts the program that the package of this platform has, with the same arguments, streams,
// signals and exit code.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const path = require("node:path");
const { version } = require("./package.json");

const name = `@mcp-tools/cli-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/mcp-tools${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`mcp-tools: the package ${name} is missing. Install mcp-tools again with optional ` +
    "dependencies (without --omit=optional). If it does not exist, there is no program for this platform.");
  process.exit(1);
}

// npx empties its cache and has another directory for each version, so that connect must not write
// a path in it.
const env = { ...process.env };
delete env.MCP_TOOLS_NPX;
if (__dirname.split(path.sep).includes("_npx")) env.MCP_TOOLS_NPX = `mcp-tools@${version}`;

const child = spawn(program, process.argv.slice(2), { stdio: "inherit", env });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => {
    // A terminal sends these to the child too.
    if (!process.stdin.isTTY || signal === "SIGTERM") child.kill(signal);
  });
}
child.on("error", (err) => {
  console.error(`mcp-tools: ${err.message}`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  process.exitCode = signal ? 128 + constants.signals[signal] : code;
});
