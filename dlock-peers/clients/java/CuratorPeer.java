import java.util.Properties;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's mutex. */
final class CuratorPeer {
    /** The distribution's jar has no version in its name. */
    private static final String MADE =
            "/META-INF/maven/org.apache.curator/curator-recipes/pom.properties";

    public static void main(String[] args) throws Exception {
        Properties made = new Properties();
        made.load(InterProcessMutex.class.getResourceAsStream(MADE));
        Peer.serve(made.getProperty("version"), tasks -> connect(args[0]));
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
