// node-redlock with its default delays: see ../../README.md.

const path = require("node:path");
const readline = require("node:readline");
const { setTimeout: sleep } = require("node:timers/promises");
const { default: Redis } = require("ioredis");
const { default: Redlock } = require("redlock");

const [host, port] = process.argv[2].split(":");
const ttl = 30_000;
// The package does not export its own description.
const { version } = require(path.join(require.resolve("redlock"), "../../../package.json"));

// A client: `lock(name)` has `acquire` and `release`.
async function connect() {
  const redis = new Redis({ host, port: Number(port) });
  await redis.ping();
  // The default gives up after ten tries.
  const redlock = new Redlock([redis], { retryCount: -1 });
  redlock.on("error", () => {});
  const lock = (name) => {
    let held;
    return {
      acquire: async () => { held = await redlock.acquire([name], ttl); },
      release: () => held.release(),
    };
  };
  return { lock, close: () => redis.disconnect() };
}

async function cycles(client, tasks, seconds) {
  const begin = performance.now();
  let count = 0;
  const repeat = async (task) => {
    const lock = client.lock(`peers-${task}`);
    while (performance.now() < begin + seconds * 1e3) {
      await lock.acquire();
      await lock.release();
      count += 1;
    }
  };
  await Promise.all([...Array(tasks).keys()].map(repeat));
  return { cycles: count, seconds: (performance.now() - begin) / 1e3 };
}

async function handOver(seconds) {
  const clients = [await connect(), await connect()];
  let [holder, waiter] = clients.map((client) => client.lock("peers-hand-over"));
  const end = performance.now() + seconds * 1e3;
  const times = [];
  await holder.acquire();
  while (performance.now() < end) {
    const granted = waiter.acquire().then(() => performance.now());
    await sleep(100 + 100 * Math.random());
    const released = performance.now();
    await holder.release();
    times.push((await granted) - released);
    [holder, waiter] = [waiter, holder];
  }
  await holder.release();
  clients.forEach((client) => client.close());
  return { hand_overs_ms: times };
}

async function contend(count, seconds) {
  const clients = await Promise.all([...Array(count)].map(connect));
  const end = performance.now() + seconds * 1e3;
  let [last, moved, longest] = [undefined, 0, 0];
  const share = async (number) => {
    const lock = clients[number].lock("peers-contended");
    let grants = 0;
    for (let begin = performance.now(); begin < end; begin = performance.now()) {
      await lock.acquire();
      const now = performance.now();
      longest = Math.max(longest, Math.min(now, end) - begin);
      if (now < end) {
        grants += 1;
        if (last !== number) moved += 1;
        last = number;
      }
      await lock.release();
    }
    return grants;
  };
  const grants = await Promise.all([...Array(count).keys()].map(share));
  clients.forEach((client) => client.close());
  return { grants, moved, longest_wait_ms: longest, seconds };
}

async function main() {
  const client = await connect();
  const answers = {
    version: () => ({ version: version.replace("v", "") }),
    cycles: (tasks, seconds) => cycles(client, tasks, seconds),
    handover: (seconds) => handOver(seconds),
    contend: (count, seconds) => contend(count, seconds),
  };
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [verb, ...words] = line.split(" ");
    console.log(JSON.stringify(await answers[verb](...words.map(Number))));
  }
  client.close();
}

main();
