import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's lock, which a watchdog renews. */
final class RedissonPeer {
    public static void main(String[] args) throws Exception {
        Peer.serve(Peer.version(Redisson.class), tasks -> connect(args[0], tasks));
    }

    private static Peer.Client connect(String address, int tasks) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + address);
        if (tasks == 1) {
            // By default each of 16 clients would have 48 threads and 25 connections.
            config.setThreads(2).setNettyThreads(2);
            config.useSingleServer().setConnectionPoolSize(2).setConnectionMinimumIdleSize(1);
        }
        RedissonClient client = Redisson.create(config);
        return new Peer.Client() {
            @Override
            public Peer.Lock lock(String name) {
                RLock lock = client.getLock(name);
                return new Peer.Lock() {
                    @Override
                    public void acquire() {
                        lock.lock();
                    }

                    @Override
                    public void release() {
                        lock.unlock();
                    }
                };
            }

            @Override
            public void close() {
                client.shutdown();
            }
        };
    }
}
