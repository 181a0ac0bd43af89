import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's mutex. */
final class CuratorPeer {
    public static void main(String[] args) throws Exception {
        Peer.serve(InterProcessMutex.class, tasks -> connect(args[0]));
    }

    private static Peer.Client connect(String address) throws Exception {
        CuratorFramework client =
                CuratorFrameworkFactory.newClient(address, new ExponentialBackoffRetry(1000, 3));
        client.start();
        client.blockUntilConnected();
        return new Peer.Client() {
            @Override
            public Peer.Lock lock(String name) {
                InterProcessMutex mutex = new InterProcessMutex(client, "/curator/" + name);
                return new Peer.Lock() {
                    @Override
                    public void acquire() throws Exception {
                        mutex.acquire();
                    }

                    @Override
                    public void release() throws Exception {
                        mutex.release();
                    }
                };
            }

            @Override
            public void close() {
                client.close();
            }
        };
    }
}
