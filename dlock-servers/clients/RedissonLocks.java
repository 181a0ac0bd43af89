import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Collections;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's plain lock, which a watchdog renews: see README.md. */
public final class RedissonLocks {
    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(args[1]) * 1_000);
        // By default it has 48 threads.
        config.setThreads(2).setNettyThreads(2);
        String address = "redis://" + args[0];
        if (args.length > 2 && args[2].equals("cluster")) {
            config.useClusterServers().setNodeAddresses(Collections.singletonList(address));
        } else {
            config.useSingleServer().setAddress(address);
        }
        RedissonClient client = Redisson.create(config);
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 2);
            System.out.println(answer(words[0], client.getLock(words[1])));
        }
        // The threads of the client would keep the process alive.
        System.exit(0);
    }

    private static String answer(String verb, RLock lock) {
        switch (verb) {
            case "acquire":
                lock.lock();
                return "acquired";
            case "try":
                return lock.tryLock() ? "acquired" : "taken";
            case "holds":
                return lock.isHeldByCurrentThread() ? "yes" : "no";
            default:
                try {
                    lock.unlock();
                    return "released";
                } catch (IllegalMonitorStateException notOurs) {
                    return "not released";
                }
        }
    }
}
