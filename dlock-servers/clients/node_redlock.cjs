// node-redlock: see README.md.

const readline = require("node:readline");
const { default: Redis } = require("ioredis");
const { default: Redlock } = require("redlock");

const [address, ttl] = process.argv.slice(2);
const [host, port] = address.split(":");
const client = new Redis({ host, port: Number(port) });
const millis = Number(ttl) * 1000;
const held = new Map();

async function answer(line) {
  const [verb, name] = line.split(" ", 2);
  if (verb === "release") {
    const lock = held.get(name);
    held.delete(name);
    await lock.release();
    return "released";
  }
  const retryCount = verb === "acquire" ? -1 : 0;
  const redlock = new Redlock([client], { retryCount, retryDelay: 50, retryJitter: 0 });
  redlock.on("error", () => {});
  try {
    held.set(name, await redlock.acquire([name], millis));
    return "acquired";
  } catch (error) {
    if (error.name === "ExecutionError") return "taken";
    throw error;
  }
}

async function main() {
  await client.ping();
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(await answer(line));
  }
  client.disconnect();
}

main();
